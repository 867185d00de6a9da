"""Choice of parameters: calibration to a target, sensitivities, and allocation of one guarantee."""
