"""Reports: answers as data and text, comparisons, plots, and the HTML page."""
