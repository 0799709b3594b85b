"""What the API says of itself: OpenAPI 3.1, from the same named queries that answer."""

from __future__ import annotations

from typing import Any

from iolens.fleet.saved_queries import queries, statement
from iolens.portal.client import CUT

__all__ = ["PATHS", "document"]

_ARROW = "application/vnd.apache.arrow.stream"
_LOG = {"name": "log", "in": "path", "required": True, "schema": {"type": "integer", "minimum": 0},
        "description": "The log's number in the lake."}  # fmt: skip
_NAME = {"name": "name", "in": "path", "required": True, "schema": {"type": "string", "minLength": 1},
         "description": "A named query."}  # fmt: skip
_ROWS = {
    "type": "object",
    "required": ["rows"],
    "properties": {"rows": {"type": "array", "items": {"type": "object"}}},
}
_CUT_TEXT = (
    "Only if there are more rows than the site gives of a statement: the number of those that are here."
)
_CUT_ROWS = {
    "type": "object",
    "required": ["rows", "columns", "cut"],
    "properties": {
        "rows": {"type": "array", "items": {"type": "object"}},
        "columns": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["name", "type"],
                "properties": {"name": {"type": "string"}, "type": {"type": "string"}},
            },
        },
        "cut": {"type": "boolean", "description": "There are more rows than these."},
    },
}
_OBJECT = {"type": "object"}
_ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["status", "title", "detail"],
            "properties": {
                "status": {"type": "integer"},
                "title": {"type": "string"},
                "detail": {"type": "string"},
            },
        }
    },
}
_ERRORS = {
    "400": "What was asked cannot be.",
    "401": "You are not signed in",
    "403": "Not for this role, or not sent from here.",
    "404": "There is none, or none that you may see.",
    "503": "The lake cannot be read now, or it took too long.",
}


def _parameters(name: str) -> list[dict[str, Any]]:
    """Those of a named query, in the address."""
    sql, known = statement(name)
    del sql
    told = {p.name: p.doc for q in queries().values() for p in q.parameters} | {
        p.name: p.doc for p in queries()[name].parameters
    }
    return [
        {
            "name": one,
            "in": "query",
            "schema": {"type": "string", "default": default}
            if isinstance(default, str)
            else {
                "type": "number",
                "default": default,
                **({"minimum": 0} if one in ("rows", "skip") else {}),
            },
            "description": told.get(one, ""),
        }
        for one, default in known.items()
    ]


def _operation(
    summary: str, answer: dict[str, Any], forms: tuple[str, ...], parameters: list[Any]
) -> dict[str, Any]:
    content: dict[str, Any] = {"application/json": {"schema": answer}}
    for form in forms:
        content[form] = {"schema": {"type": "string", "contentMediaType": form}}
    return {
        "summary": summary,
        "parameters": parameters,
        "responses": {
            "200": {"description": "The answer.", "content": content},
            **{
                code: {"description": text, "content": {"application/json": {"schema": _ERROR}}}
                for code, text in _ERRORS.items()
            },
        },
    }


def _paths() -> dict[str, Any]:
    both = (_ARROW, "text/csv")
    asked = {
        "schema": {
            "type": "object",
            "required": ["statement"],
            "properties": {"statement": {"type": "string"}},
        }
    }
    sql = _operation("The rows of one SELECT over what you may see", _CUT_ROWS, both, [])
    sql["responses"]["200"]["headers"] = {CUT: {"schema": {"type": "integer"}, "description": _CUT_TEXT}}
    sql["requestBody"] = {"required": True, "content": {"application/json": asked}}
    return {
        "/api/v1/openapi.json": {"get": _operation("This document", _OBJECT, (), [])},
        "/api/v1/me": {"get": _operation("Who you are here", _OBJECT, (), [])},
        "/api/v1/jobs": {
            "get": _operation("Jobs, searched and sorted", _ROWS, both, _parameters("job_list"))
        },
        "/api/v1/jobs/{log}": {"get": _operation("One job", _OBJECT, (), [_LOG])},
        "/api/v1/jobs/{log}/findings": {
            "get": _operation("What the rules found in it", _ROWS, ("text/csv",), [_LOG])
        },
        "/api/v1/running": {
            "get": _operation("Jobs that run now, as node exporters tell", _ROWS, ("text/csv",), [])
        },
        "/api/v1/queries": {"get": _operation("Named queries and their parameters", _OBJECT, (), [])},
        "/api/v1/queries/{name}": {
            "get": _operation(
                "The rows of a named query; its parameters stand in the address", _ROWS, both, [_NAME]
            )
        },
        "/api/v1/sql": {"post": sql},
    }


PATHS = frozenset(_paths())


def document(origin: str) -> dict[str, Any]:
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "iolens",
            "version": "1",
            "description": "A lake of I/O logs: each viewer's own part of it.",
        },
        "servers": [{"url": origin}],
        "security": [{"token": []}],
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "paths": _paths(),
    }
