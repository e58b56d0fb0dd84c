"""Settings of Sphinx for the published pages. It runs in .venv-site and imports nothing of the project."""

project = "How PyTorch works inside"
extensions = ["myst_nb"]
nb_execution_mode = "off"  # the stored outputs are shown
nb_ipywidgets_js = {}  # else two scripts of other machines
nb_merge_streams = True
smartquotes = False  # quotes stand as they were written
suppress_warnings = ["misc.highlighting_failure"]  # code with an error in it is shown on purpose

html_theme = "sphinx_book_theme"
html_title = project
html_context = {"default_mode": "auto"}  # light or dark as the reader's system is
html_sidebars = {"**": ["sbt-sidebar-nav.html"]}  # the search stands in the header
html_static_path = ["_static"]
html_css_files = ["labbook.css"]
html_copy_source = False
html_use_index = False
html_show_sourcelink = False
html_show_sphinx = False
html_show_copyright = False
html_theme_options = {
    "use_download_button": False,
    "use_fullscreen_button": False,
    "home_page_in_toc": True,
    "show_toc_level": 2,
}
