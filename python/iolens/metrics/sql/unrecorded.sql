-- title: Interfaces whose calls are not recorded
-- topic: job
-- layout: table
-- definition: interfaces that a program uses, or may use, and whose calls are not in the log. linked_in: the program's
--   file defines the library's functions, so no preloaded library sees the calls. no_backend: iolens was built without
--   the program's MPI. no_lines: of a Python that this version of iolens does not know, calls are recorded without
--   their lines of code. processes: how many are affected.
-- unit: none
-- needs: unrecorded
-- caveats: Programs without a symbol table (stripped) are not found.
-- source: iolens
SELECT log, interface, program, reason, count(*)::BIGINT AS processes,
    CASE WHEN reason = 'no_backend'
        THEN 'MPI-IO of ' || program || ' is not recorded: iolens has no back end for its MPI (see iolens doctor ' || program || ')'
        WHEN reason = 'no_lines'
        THEN 'Lines of ' || interface || ' in ' || program || ' are not recorded: this version of iolens cannot read them'
        ELSE interface || ' is linked into ' || program || ': its calls are not recorded; relink with the shared library'
            || CASE WHEN interface = 'HDF5' THEN ' (h5cc -shlib)' ELSE '' END END AS text
FROM unrecorded GROUP BY log, interface, program, reason ORDER BY log, interface, program, reason
