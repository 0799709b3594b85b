"""What the sections of the extension trailer hold, so that a query finds each of them in every log, if only empty."""

from __future__ import annotations

__all__ = ["SECTIONS"]

_COLUMNS = {
    "process": """
        rank i, pid i, parent i, forked i, host s, exe s, command s, directory s, start f, end f, ended s, signal i,
        exit_code i, threads i, io_time f, read_time f, write_time f, meta_time f, kernel_read i, kernel_written i,
        storage_read i, storage_written i, seen_read i, seen_written i, unseen_read i, unseen_written i,
        unexplained_read i, unexplained_written i,
        nested_calls i, folded_opens i, budget i, start_cost f, mpi s, mpi_start f, mpi_end f,
        user_time f, system_time f, processor_wait f, major_faults i, waits i,
        processor_threads i""",
    "total": """
        rank i, interface s, records i, opens i, reads i, writes i, bytes_read i, bytes_written i, read_time f,
        write_time f, meta_time f""",
    "excluded": "rank i, class s, description s, opens i, reads i, writes i, bytes_read i, bytes_written i",
    "operation": "rank i, interface s, name s, count i, errors i, bytes i, time f",
    "mpiio_sizes": "rank i, kind s, direction s, size s, count i, bytes i",
    "mpiio_completions": """
        rank i, kind s, direction s, count i, errors i, bytes i, wait_time f, span_time f""",
    "locks": "rank i, file s, shared i, exclusive i, released i, refused i, wait_time f, longest f",
    "sampled_times": "rank i, calls i, time f, timed i, doubtful i, doubtful_time f",
    "async": """
        rank i, interface s, direction s, count i, errors i, bytes i, recorded i, untimed i, fixed_files i,
        fixed_buffers i, wait_time f, span_time f, longest f, under_10us i, under_100us i, under_1ms i, under_10ms i,
        under_100ms i, slower i, estimated i""",
    "async_batches": """
        rank i, interface s, calls i, requests i, largest i, size_1 i, size_2_4 i, size_5_16 i, size_17_64 i,
        size_65_plus i""",
    "communication": "rank i, kind s, call s, count i, bytes i, time f, shortest f, longest f",
    "timeline": "rank i, thread i, start f, end f, read f, write f, meta f",
    "folded": "rank i, opens i, files i, program_opens i, program_files i, budget i, sufficient_budget i",
    "folded_directory": "rank i, directory s, opens i, surplus i",
    "unobserved": "rank i, program s, reason s, count i",
    "unrecorded": "rank i, interface s, program s, reason s",
    "observers": "rank i, pid i, start f, observer s",
    "phases": """
        rank i, phase s, count i, open i, time f, shortest f, longest f, first f, last f, read_time f, write_time f,
        meta_time f, reads i, writes i, meta_ops i, bytes_read i, bytes_written i, processor_time f""",
    "phase_interfaces": "rank i, phase s, interface s, reads i, writes i, bytes_read i, bytes_written i",
    "steps": "rank i, phase s, count i, start f, end f, io_time f, bytes_read i, bytes_written i",
    "lines": "rank i, interface s, kind s, stack s, file i, calls i, bytes i, time f",
    "sites": "interface s, module s, build_id s, stack s, offset i, file i, ranks i",
    "platform": "host s, name s, value s, number f, unit s",
    "mounted": "host s, point s, type s, source s, options s, class s",
    "volume": "name s, source s, osts i, mdts i",
    "target": "volume s, kind s, number i, server s",
    "phase": "name s, time f",
    "environment": "name s, value s",
    "part": """
        run i, first_rank i, nprocs i, log_name s, job i, uid i, command s, begin i, end i, offset f, metadata s""",
    "interval": "begin i, end i, offset f",
    "selection": "source i",
    "uncounted": "module s, counter s",
    "accesses": "module s, offset i, stored i, incomplete i",
}

_TYPES = {"i": "BIGINT", "f": "DOUBLE", "s": "VARCHAR"}

SECTIONS: dict[str, dict[str, str]] = {
    section: {
        name: _TYPES[kind]
        for name, kind in (column.split() for column in columns.replace("\n", " ").split(","))
    }
    for section, columns in _COLUMNS.items()
}
"""Section -> column -> DuckDB's type. A log of a newer version may have more columns, and more sections."""
