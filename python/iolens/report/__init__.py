"""Reports: what is known about one job or several, built once as a document, written as HTML, text, PDF, JSON or CSV.

``build`` asks the metrics and rules; renderers know nothing of logs, and the document nothing of renderers.
"""

from iolens.report.build import build
from iolens.report.document import Document

__all__ = ["Document", "build"]
