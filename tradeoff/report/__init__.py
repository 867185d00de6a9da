"""Ways out: answers as data and text, and plots. Asks curves, and computes nothing of its own."""

from tradeoff.report.answers import Answer, Answers, ask
from tradeoff.report.digits import rounded
from tradeoff.report.plot import figure, plot
from tradeoff.report.saving import check_target, save
from tradeoff.report.summary import summary

__all__ = ["Answer", "Answers", "ask", "check_target", "figure", "plot", "rounded", "save", "summary"]
