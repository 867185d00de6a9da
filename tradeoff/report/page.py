"""The page of a report, with holes."""

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; script-src $allowed; style-src 'unsafe-inline'; img-src data: blob:">
<title>$title</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; color: #111; max-width: 60rem; margin: 2rem auto;
 padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.85rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 0.2rem 0.8rem 0.2rem 0; border-bottom: 1px solid #ddd;
 white-space: nowrap; vertical-align: top; }
th:first-child, td:first-child { position: sticky; left: 0; background: #fff; }
dt { font-weight: 600; } dd { margin: 0 0 0.4rem 1.2rem; }
.under td { color: #9c1c1c; font-weight: 600; }
@media (max-width: 40rem) { body { margin: 1rem auto; } ul { padding-left: 1.2rem; } }
@media print {
 @page { margin: 1.5cm; }
 body { font-size: 9pt; margin: 0; max-width: none; padding: 0; }
 .wide { overflow: visible; }
 th, td { white-space: normal; padding-right: 0.4rem; } th:first-child, td:first-child { position: static; }
 table { font-size: 7pt; } h2, h2 + p { break-after: avoid; }
 table, li, .plotly-graph-div { break-inside: avoid; }
 .modebar, .updatemenu-container { display: none; }
}
footer { margin-top: 2rem; color: #555; font-size: 0.85rem; }
</style>
<script>$script</script>
</head>
<body>
<h1>$title</h1>
<h2>What was assumed</h2>
<ul>$words</ul>
<h2>What was released</h2>
$mechanisms
<h2>How to read the numbers</h2>
<dl>
<dt>α, type I error (alpha)</dt><dd>How often a test for one record raises a false alarm.</dd>
<dt>β, type II error (beta)</dt><dd>How often that test misses the record. The trade-off curve gives the
least β that any test can have at each α: the higher the curve, the more private.</dd>
<dt>ε and δ (epsilon, delta)</dt><dd>Whatever an attacker looks for is at most e<sup>ε</sup> times as
probable with one of two neighbours as with the other, plus δ. ε is in nats, the unit of natural logarithms;
smaller is more private.</dd>
<dt>at least, at most</dt><dd>$sides The number to
report is in bold: for ε and δ the upper bound, for β the lower one. Neither can claim more privacy than
there is.</dd>
</dl>
<h2>Answers</h2>
$answers
$proofs
<h2>What an attacker can do who knows every record but one</h2>
<ul>$reading</ul>
<h2>One number</h2>
$gdp
<h2>Trade-off curve</h2>
<p>Black is exact, dashes are other methods. On log axes the power 1 − β is drawn, so that small α can be
seen: lower is more private.</p>
$tradeoff
<h2>Privacy profile</h2>
<p>The least δ at each ε. Lower is more private.</p>
$profile
<h2>Beside other methods</h2>
<p>Each answer with its signed error in brackets; “!” marks one on the unsafe side, where more privacy is
claimed than the exact bounds allow: ε or δ too small, β too large. “under-reports”: some answer here does;
“under-reports elsewhere”: only β at one of 129 other values of α does. The last column has the largest such
error of each kind, and where. “safe”: none does.
“within the bounds”, and “?”: the exact bounds do not tell. A bound is proved, an estimate is not. The column
before has the largest error of β on either side.</p>
$comparison
$declined
<footer>Made by tradeoff $version. Exact bounds are certified: β from below, ε and δ from above never
under-report. This page holds all it needs and asks no network.</footer>
</body>
</html>
"""
