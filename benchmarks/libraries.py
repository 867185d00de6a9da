"""What is compared: libraries, their settings, and an environment for each."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


class NotInstalledError(Exception):
    """An environment could not be made; the message has the reason."""


@dataclass(frozen=True)
class Library:
    """A library: ``requirements`` are pinned, and empty for this one, which runs where it is installed."""

    name: str
    requirements: tuple[str, ...] = ()

    @property
    def adapter(self) -> Path:
        """Script that translates questions for this library."""
        return HERE / "peers" / f"{self.name.replace('-', '_').lower()}.py"

    def interpreter(self, environments: Path | None) -> Path:
        """Return the Python of its environment, made on first use."""
        if not self.requirements:
            return Path(sys.executable)
        if environments is None:
            raise NotInstalledError("no --environments DIR given")
        home = environments.absolute() / self.name
        python, mark = home / "bin" / "python", home / "requirements.txt"
        wanted = "\n".join(self.requirements)
        if not mark.exists() or mark.read_text(encoding="utf-8") != wanted:
            install(home, python, self.requirements)
            mark.write_text(wanted, encoding="utf-8")
        return python


def install(home: Path, python: Path, requirements: tuple[str, ...]) -> None:
    """Make an environment with these requirements."""
    try:
        venv.create(home, with_pip=True, clear=True)
        command = [str(python), "-m", "pip", "install", "--quiet", *requirements]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        raise NotInstalledError(f"{type(error).__name__} while making its environment") from error
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or ["pip failed"]
        raise NotInstalledError(lines[-1])


@dataclass(frozen=True)
class Setting:
    """A library with its keyword arguments; only some are followed through the scaling tables."""

    library: Library
    label: str
    arguments: dict[str, Any] = field(default_factory=dict)
    scaling: bool = False
    kinds: tuple[str, ...] = ("epsilon",)

    @property
    def name(self) -> str:
        """What the tables call it."""
        return f"{self.library.name}, {self.label}" if self.label else self.library.name


OWN = Library("tradeoff")
DP_ACCOUNTING = Library("dp-accounting", ("dp-accounting==0.6.0",))
PRV = Library("prv-accountant", ("prv-accountant==0.2.0",))
# Its Fourier accountant calls scipy.integrate.quadrature, which left SciPy in 1.14.
AUTODP = Library("autodp", ("autodp==0.2.3.1", "scipy==1.13.1", "numpy==1.26.4"))
RISKCAL = Library("riskcal", ("riskcal==1.5.1", "dp-accounting==0.6.0"))
GDPNUM = Library("gdpnum", ("gdpnum==0.1.2", "dp-accounting==0.6.0"))
OPENDP = Library("opendp", ("opendp==0.16.0",))
OPAKE = Library("opake", ("opake-accounting==0.16.0",))
PLD_ACCOUNTING = Library("PLD_accounting", ("PLD_accounting==2.0", "dp-accounting==0.6.0"))

SETTINGS = (
    Setting(OWN, "", scaling=True, kinds=("epsilon", "beta", "allocation")),
    Setting(OWN, "tol=1e-8", {"tol": 1e-8}, scaling=True),
    Setting(DP_ACCOUNTING, "interval 1e-4", {"interval": 1e-4}, scaling=True),
    Setting(DP_ACCOUNTING, "interval 1e-5", {"interval": 1e-5}),
    Setting(PRV, "eps_error 0.1", {"eps_error": 0.1}, scaling=True),
    Setting(PRV, "eps_error 0.01", {"eps_error": 0.01}),
    Setting(AUTODP, "Rényi", {"method": "renyi"}, scaling=True),
    Setting(AUTODP, "Fourier", {"method": "fourier"}),
    Setting(OPENDP, "zCDP"),
    Setting(RISKCAL, "interval 1e-4", {"interval": 1e-4}, kinds=("beta",)),
    Setting(GDPNUM, "interval 1e-4", {"interval": 1e-4}, kinds=("beta",)),
    Setting(OPAKE, "interval 1e-4", {"discretization": 1e-4}, True, ("epsilon", "beta", "allocation")),
    Setting(OPAKE, "interval 2e-5", {"discretization": 2e-5}, kinds=("epsilon", "beta")),
    Setting(OPAKE, "4096 cells", {"max_conv_grid": 4096}, scaling=True, kinds=("allocation",)),
    Setting(PLD_ACCOUNTING, "", scaling=True, kinds=("allocation",)),
)


def quiet() -> dict[str, str]:
    """Return the variables every library runs with: one thread, so that a second is a second of one core."""
    threads = dict.fromkeys(
        ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"), "1"
    )
    return {**os.environ, **threads, "PYTHONHASHSEED": "0"}
