"""The page of a report, with holes."""

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:">
<title>$title</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; color: #111; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.85rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 0.2rem 0.8rem 0.2rem 0; border-bottom: 1px solid #ddd; white-space: nowrap; }
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
<h2>Answers</h2>
<p>The truth lies between the two bounds; rounding is inside them. Losses are in nats.</p>
$answers
<h2>What an attacker can do who knows every record but one</h2>
<ul>$reading</ul>
<h2>One number</h2>
$gdp
<h2>Trade-off curve</h2>
$tradeoff
<h2>Privacy profile</h2>
$profile
<h2>Beside other methods</h2>
<p>Each answer with its signed error. “!” and “under-reports” mark a method that claims more privacy than the exact bounds allow.
Estimates have no proof; bounds do.</p>
$comparison
<footer>Made by tradeoff $version. Exact bounds are certified: β from below, ε and δ from above never under-report.</footer>
</body>
</html>
"""
