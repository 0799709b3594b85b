"""Every address of the portal, and which roles it serves: one table.

A row without a role serves every request; all others need a viewer of that role or a higher one. What a viewer sees
there is bounded elsewhere (``bounded``), and for every role alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from starlette.responses import Response

from iolens.portal.data.scope import Role
from iolens.portal.web import api
from iolens.portal.web.page_request import PageRequest
from iolens.portal.web.pages import (
    admin,
    compare,
    coverage,
    history,
    job,
    jobs,
    lists,
    live,
    sql,
    start,
    tokens,
)

__all__ = ["ROUTES", "Route"]

Endpoint = Callable[[PageRequest], Response]


@dataclass(frozen=True)
class Route:
    path: str
    endpoint: Endpoint
    least: Role = Role.USER
    methods: tuple[str, ...] = ("GET",)

    @property
    def api(self) -> bool:
        return self.path.startswith("/api/")


ROUTES = (
    Route("/", start.front),
    Route("/jobs", jobs.listed),
    Route("/job", job.by_number),
    Route("/job/{log:int}", job.one),
    Route("/job/{log:int}/details", job.details),
    Route("/job/{log:int}/tables.csv", job.tables_csv),
    Route("/job/{log:int}/report", job.report),
    Route("/application", history.one),
    Route("/compare", compare.several),
    Route("/compare.csv", compare.as_csv),
    Route("/screens", lists.screens),
    Route("/storage", lists.storage),
    Route("/q", lists.all_queries),
    Route("/q/{name}", lists.one),
    Route("/csv/{name}", lists.as_csv),
    Route("/coverage", coverage.page),
    Route("/coverage.csv", coverage.as_csv),
    Route("/running", live.page),
    Route("/running.csv", live.as_csv),
    Route("/sql", sql.form),
    Route("/sql", sql.run, methods=("POST",)),
    Route("/sql.csv", sql.as_csv, methods=("POST",)),
    Route("/tokens", tokens.listed),
    Route("/tokens", tokens.make, methods=("POST",)),
    Route("/tokens/remove", tokens.remove, methods=("POST",)),
    Route("/logout", tokens.leave, methods=("POST",)),
    Route("/api/v1/openapi.json", api.openapi),
    Route("/api/v1/me", api.me),
    Route("/api/v1/jobs", api.jobs),
    Route("/api/v1/jobs/{log:int}", api.job),
    Route("/api/v1/jobs/{log:int}/findings", api.findings),
    Route("/api/v1/running", api.running),
    Route("/api/v1/queries", api.listed),
    Route("/api/v1/queries/{name}", api.named),
    Route("/api/v1/sql", api.sql, methods=("POST",)),
    Route("/ingest", admin.ingest, Role.ADMINISTRATOR),
    Route("/ingest.csv", admin.ingest_csv, Role.ADMINISTRATOR),
    Route("/audit", admin.audit, Role.ADMINISTRATOR),
    Route("/audit.csv", admin.audit_csv, Role.ADMINISTRATOR),
)
