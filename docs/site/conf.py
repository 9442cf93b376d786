# SPDX-License-Identifier: Apache-2.0
"""Configuration of Sphinx for the pages that pages.py writes."""
project = "Cohort"
html_title = "Cohort"
extensions = ["myst_parser"]
myst_heading_anchors = 6
myst_enable_extensions = ["tasklist"]
# Signatures of the reference are not complete C++; pages of the forge may skip a level of headings.
suppress_warnings = ["misc.highlighting_failure", "myst.header"]
smartquotes = False  # they would change texts such as ""
html_theme = "furo"
html_static_path = ["style.css"]
html_css_files = ["style.css"]
html_show_copyright = False
html_use_index = False  # no page defines terms
html_copy_source = False
html_show_sourcelink = False
pygments_style = "default"
pygments_dark_style = "github-dark"
html_theme_options = {"navigation_with_keys": True}
