"""The HTML report: what it says, that it asks no network, and that a browser draws it and turns its axes."""

import base64
import hashlib
import html
import importlib
import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser

import pytest

import tradeoff as to
from tradeoff.__main__ import main
from tradeoff.display import rounded
from tradeoff.errors import MissingExtraError
from tradeoff.proofs.certificate import parse_certificates
from tradeoff.report.compare import compare
from tradeoff.report.html import assumptions

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome")
# A browser on its own looks for updates, certificates and news.
OFFLINE = (
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-quic",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)
PLAN = """
title = "a <kind> of noise"
delta = [1e-5]
alpha = [0.05]
[[mechanism]]
kind = "subsampled-gaussian"
noise_multiplier = 2
sample_rate = 0.01
"""
# Runs in the page: reads what was drawn, presses a button, and reads the axes again.
PROBE = """<script>
addEventListener("load", async () => {
  const found = {};
  for (const name of ["tradeoff", "profile"]) {
    const plot = document.getElementById(name);
    const lines = plot.querySelectorAll(".scatterlayer .trace").length;
    const before = plot._fullLayout.yaxis.type;
    const hovered = async () => {
      Plotly.Fx.hover(plot, {xval: 0.05}, ["xy"]);
      await new Promise(done => setTimeout(done, 300));
      return [...plot.querySelectorAll(".hoverlayer text")].map(each => each.textContent).join(" ");
    };
    const first = await hovered();
    const label = before === "log" ? "linear" : "log";
    const buttons = [...plot.querySelectorAll(".updatemenu-button")];
    const button = buttons.find(each => each.textContent.trim() === label);
    button.dispatchEvent(new MouseEvent("click", {bubbles: true}));
    await new Promise(done => setTimeout(done, 500));
    found[name] = [lines, before, plot._fullLayout.yaxis.type, first, await hovered()];
  }
  found.wider = document.documentElement.scrollWidth - innerWidth;
  const answer = document.createElement("pre");
  answer.id = "probe";
  answer.textContent = JSON.stringify(found);
  document.body.appendChild(answer);
});
</script>"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    pytest.importorskip("plotly", reason="plotly, the extra [report], is not installed")
    folder = tmp_path_factory.mktemp("report")
    plan, target = folder / "plan.toml", folder / "report.html"
    plan.write_text(PLAN, encoding="utf-8")
    assert main(["report", str(plan), "-o", str(target)]) == 0
    return target


def visible(text):
    return html.unescape(
        re.sub(r"<[^>]+>", " ", re.sub(r"<script.*?</script>|<style.*?</style>", " ", text, flags=re.DOTALL))
    )


def test_the_report_says_what_it_rests_on(page):
    said = visible(page.read_text(encoding="utf-8"))
    assert "a <kind> of noise" in said
    assert "one of them has a single record more than the other" in said
    assert "Poisson sample" in said
    assert "noise_multiplier = 2.0" in said
    assert "under-report" in said


def test_the_numbers_are_those_of_the_library(page):
    said = visible(page.read_text(encoding="utf-8"))
    step = to.mechanisms.SubsampledGaussian(noise_multiplier=2, sample_rate=0.01)
    curve = to.Plan({step: 1}).guarantee()
    mu = float(re.search(r"μ = ([0-9.]+)", said)[1])
    lower, upper = curve.gdp().bounds
    assert lower <= mu <= upper * (1 + 1e-5)
    result = re.search(r"epsilon at delta = 1e-05\s+([0-9.]+)\s+([0-9.]+)", said)
    bounds = curve.bounds.epsilon(1e-5)
    assert float(result[1]) <= bounds.upper
    assert float(result[2]) >= bounds.lower
    assert float(result[2]) == pytest.approx(bounds.upper, rel=1e-4)


@pytest.mark.slow
def test_the_proof_of_every_answer_comes_with_the_page(page):
    text = page.read_text(encoding="utf-8")
    data = re.search(r"download=certificates.json href='data:application/json;base64,([^']+)'", text)[1]
    result = parse_certificates(base64.b64decode(data).decode())
    assert [each.question for each in result] == ["epsilon", "beta"]
    assert all(to.verify(each).checks for each in result)
    proved = text.partition("They prove:")[2].partition("</table>")[0]
    upper = max(each.upper for each in result if each.question == "epsilon")
    assert rounded(upper, "upper") in proved
    assert rounded(min(each.lower for each in result if each.question == "beta"), "lower") in proved


def test_the_page_loads_nothing(page):
    text = page.read_text(encoding="utf-8")
    outside = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    assert "default-src 'none'" in text
    assert not re.search(r"(src|href)\s*=\s*[\"']?(https?:)?//", outside)
    assert not re.search(r"<script[^>]*\ssrc=", text)


def scripts(text):
    result = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attrs):
            if tag == "script":
                result.append("")

        def handle_data(self, data):
            if self.cdata_elem == "script":
                result[-1] += data

    Reader().feed(text)
    return result


def named(script):
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def test_the_scripts_of_the_page_run_and_no_others(page):
    text = page.read_text(encoding="utf-8")
    policy = re.search(r'Content-Security-Policy"\s+content="([^"]+)"', text)[1]
    allowed = re.search(r"script-src ([^;]+);", policy)[1].split()
    assert "\r" not in text  # a browser would read it as a line feed, and hash that
    assert len(allowed) == 3
    assert [named(each) for each in scripts(text)] == allowed


@pytest.mark.slow
def test_the_same_plan_gives_the_same_bytes():
    pytest.importorskip("plotly", reason="plotly, the extra [report], is not installed")
    written = importlib.import_module("tradeoff.report.html").report
    plan = to.Plan({to.mechanisms.Gaussian(noise_multiplier=2): 3})

    def one():
        curve = plan.guarantee()
        comparison = compare(curve, ["zcdp", "basic"], delta=[1e-5])
        return written("twice", plan, comparison.exact, curve.gdp(), comparison)

    assert one() == one()


def test_the_side_to_report_is_in_bold(page):
    text = page.read_text(encoding="utf-8")
    assert re.search(r"epsilon at delta = 1e-05</td><td>[0-9.]+</td><td><strong>", text)
    assert re.search(r"beta at alpha = 0.05</td><td><strong>[0-9.]+</strong></td><td>[0-9.]+</td>", text)


@pytest.mark.slow
def test_what_under_reports_is_marked_and_what_declines_says_why(page):
    text = page.read_text(encoding="utf-8")
    assert re.search(r"<tr class=under><td>[^<]+</td><td>under-reports</td>", text)
    assert "zcdp: no rho is known" in visible(text)


def test_titles_are_text(page):
    assert "a &lt;kind&gt; of noise" in page.read_text(encoding="utf-8")


def test_a_browser_draws_it(page, tmp_path):
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip(f"no browser is installed: none of {', '.join(BROWSERS)} is on the path")
    probed = tmp_path / "probed.html"
    text = page.read_text(encoding="utf-8").replace("</body>", PROBE + "</body>")
    probed.write_text(
        text.replace("script-src ", f"script-src {named(scripts(PROBE)[0])} ", 1), encoding="utf-8"
    )
    flags = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        *OFFLINE,
        f"--user-data-dir={tmp_path / 'profile'}",
        "--virtual-time-budget=20000",
        "--dump-dom",
    ]
    run = subprocess.run(
        [browser, *flags, probed.as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    answer = re.search(r'<pre id="probe">(.*?)</pre>', run.stdout, flags=re.DOTALL)
    assert answer, run.stderr[-2000:]
    result = json.loads(html.unescape(answer[1]))
    lines, before, after, beta, power = result["tradeoff"]
    assert lines >= 6
    assert (before, after) == ("linear", "log")
    curve = to.Plan({to.mechanisms.SubsampledGaussian(noise_multiplier=2, sample_rate=0.01): 1}).guarantee()
    at = float(re.search(r"[0-9.]+", beta)[0])  # the point next to 0.05
    shown = float(re.search(r"exact : β ≥ ([0-9.]+)", beta)[1])
    assert curve(at) * (1 - 1e-4) <= shown <= curve.bounds(at).upper
    assert float(re.search(r"exact : 1 − β ≤ ([0-9.]+)", power)[1]) >= 1 - curve.bounds(at).upper
    lines, before, after, delta, _ = result["profile"]
    assert lines >= 5
    assert (before, after) == ("log", "linear")
    assert "δ ≤" in delta
    assert result["wider"] <= 0
    assert "Content Security Policy" not in run.stderr


def test_an_infinite_mu_is_explained():
    pytest.importorskip("plotly", reason="plotly, the extra [report], is not installed")
    written = importlib.import_module("tradeoff.report.html").report
    plan = to.Plan({to.mechanisms.ApproximateDP(epsilon=1.0, delta=1e-5): 1}, adjacency="replace-one")
    curve = plan.guarantee()
    comparison = compare(curve, ["basic"], delta=[1e-3])
    said = visible(written("", plan, comparison.exact, curve.gdp(), comparison))
    assert "No finite μ holds" in said
    assert "f(0) = 1 - 1e-05" in said
    assert "differ in a single record" in said
    assert "of the bound used, not of the mechanism" in said


def test_sentences_round_up_what_an_attacker_can_do():
    readings = importlib.import_module("tradeoff.report.html").readings
    faint = to.Plan({to.mechanisms.Gaussian(noise_multiplier=1e20): 1}).guarantee()
    assert [each.split()[-1] for each in readings(faint)] == ["0.001001.", "0.01001.", "0.1001.", "0.5001."]
    assert [each.split()[-1] for each in readings(to.TotalVariation(1.0))] == ["1."] * 4
    assert readings(to.Identity())[-1].endswith("at most 0.5.")


def test_the_failure_is_printed_as_it_was_asked():
    said = importlib.import_module("tradeoff.report.html")._gdp(to.PureDP(1.0).gdp(failure=1.2345674e-6))
    assert "probability 1.2345674e-06;" in said


def test_plotly_is_an_extra(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    monkeypatch.setitem(sys.modules, "plotly", None)
    with pytest.raises(MissingExtraError, match=r"tradeoff\[report\]"):
        importlib.import_module("tradeoff.report.html").library("offline")
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN, encoding="utf-8")
    assert main(["report", str(plan), "-o", str(tmp_path / "report.html")]) == 2
    assert "tradeoff[report]" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "words"), [("report.txt", "allowed: .html, .htm"), ("missing/report.html", "cannot be written")]
)
def test_a_report_that_cannot_be_written_is_refused_at_once(tmp_path, capsys, name, words):
    pytest.importorskip("plotly", reason="plotly, the extra [report], is not installed")
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN, encoding="utf-8")
    assert main(["report", str(plan), "-o", str(tmp_path / name)]) == 2
    assert words in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [plan]


def test_samples_inside_are_assumed_too():
    step = to.mechanisms.SubsampledGaussian(1, 0.01)
    alone, inside = (assumptions(to.Plan({each: 1})) for each in (step, to.mechanisms.BestOfRuns(step, 3)))
    assert alone == inside
    assert any("Poisson" in said for said in inside)
