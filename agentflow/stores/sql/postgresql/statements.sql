-- name: find_schema
SELECT 1 WHERE to_regclass('agentflow_schema') IS NOT NULL;

-- name: make_schema
CREATE TABLE IF NOT EXISTS agentflow_schema (version BIGINT PRIMARY KEY);

-- name: schema_version
SELECT coalesce(max(version), 0) FROM agentflow_schema;

-- name: add_schema_version
INSERT INTO agentflow_schema (version) VALUES (%(version)s);

-- name: drivers
-- The server's own clock, unless another one is given: the clocks of the drivers' machines need not agree.
SELECT driver, machine, pid, began, lease_until < coalesce(%(now)s::bigint, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) FROM agentflow_drivers;

-- name: driver
SELECT driver, machine, pid, began, lease_until < coalesce(%(now)s::bigint, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) FROM agentflow_drivers WHERE driver = %(driver)s;

-- name: renew_driver
INSERT INTO agentflow_drivers (driver, machine, pid, began, lease_until)
VALUES (%(driver)s, %(machine)s, %(pid)s, %(began)s, coalesce(%(now)s::bigint, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) + %(lease)s)
ON CONFLICT (driver) DO UPDATE SET lease_until = excluded.lease_until;

-- name: drop_driver
DELETE FROM agentflow_drivers
WHERE driver = %(driver)s AND NOT EXISTS (SELECT 1 FROM agentflow_runs AS r WHERE r.driver = %(driver)s);

-- name: run
SELECT run_id, workflow_id, workflow_version, fingerprint, status, created, updated, last, epoch, due, driver
FROM agentflow_journals WHERE run_id = %(run_id)s;

-- name: add_run
INSERT INTO agentflow_runs
(run_id, workflow_id, workflow_version, fingerprint, status, created, updated, epoch, driver)
VALUES (%(run_id)s, %(workflow_id)s, %(workflow_version)s, %(fingerprint)s, 'running', %(created)s, %(created)s, 1, %(driver)s)
ON CONFLICT (run_id) DO NOTHING;

-- name: take_run
-- Only as it was seen: whoever claims it in between is not robbed.
UPDATE agentflow_runs SET status = 'running', epoch = epoch + 1, driver = %(driver)s, due = NULL
WHERE run_id = %(run_id)s AND epoch = %(epoch)s AND status = %(status)s;

-- name: fences
-- Locked, so that no claim comes between this and the commit; in one order, so that nobody waits in a circle.
SELECT run_id, run_key, epoch, coalesce((SELECT max(number) FROM agentflow_entries AS e WHERE e.run_key = r.run_key), 0)
FROM agentflow_runs AS r WHERE run_id = ANY(%(run_ids)s::text[]) AND driver = %(driver)s
ORDER BY run_id FOR NO KEY UPDATE;

-- name: append_one
-- An append of one entry in one statement, which commits by itself: one way to the server and back.
WITH fence AS MATERIALIZED (
    SELECT run_key FROM agentflow_runs
    WHERE run_id = %(run_id)s AND epoch = %(epoch)s AND driver = %(driver)s
    FOR NO KEY UPDATE
)

INSERT INTO agentflow_entries (run_key, number, kind, body, written)
SELECT run_key, %(number)s, %(kind)s, %(body)s, %(written)s FROM fence
WHERE
    %(number)s = 1 + coalesce((SELECT max(number) FROM agentflow_entries AS e WHERE e.run_key = fence.run_key), 0);

-- name: add_entries
INSERT INTO agentflow_entries (run_key, number, kind, body, written)
SELECT (e.value ->> 0)::bigint, (e.value ->> 1)::bigint, e.value ->> 2, e.value ->> 3, %(written)s
FROM json_array_elements(%(entries)s::json) AS e (value);

-- name: put_snapshot
INSERT INTO agentflow_snapshots (run_key, number, body) VALUES (%(run_key)s, %(number)s, %(body)s)
ON CONFLICT (run_key) DO UPDATE SET number = excluded.number, body = excluded.body;

-- name: give_back
UPDATE agentflow_runs SET status = %(status)s, due = %(due)s, updated = %(updated)s, driver = NULL WHERE run_key = %(run_key)s;

-- name: abandon
UPDATE agentflow_runs SET status = 'interrupted', driver = NULL
WHERE run_id = %(run_id)s AND epoch = %(epoch)s AND driver = %(driver)s;

-- name: disown
UPDATE agentflow_runs SET status = 'interrupted', driver = NULL
WHERE run_id = %(run_id)s AND driver = %(driver)s AND epoch <> %(held)s;

-- name: abandon_all
UPDATE agentflow_runs SET status = 'interrupted', driver = NULL WHERE driver = %(driver)s;

-- name: entries_after
SELECT number, kind, body FROM agentflow_entries
WHERE run_key = (SELECT run_key FROM agentflow_runs WHERE run_id = %(run_id)s) AND number > %(after)s
ORDER BY number;

-- name: entries_from_snapshot
SELECT number, kind, body FROM (
    SELECT 0 AS plain, number, 'snapshot' AS kind, body FROM agentflow_snapshots
    WHERE run_key = (SELECT run_key FROM agentflow_runs WHERE run_id = %(run_id)s)
    UNION ALL
    SELECT 1 AS plain, number, kind, body FROM agentflow_entries
    WHERE
        run_key = (SELECT run_key FROM agentflow_runs WHERE run_id = %(run_id)s)
        AND number > coalesce((
            SELECT number FROM agentflow_snapshots
            WHERE run_key = (SELECT run_key FROM agentflow_runs WHERE run_id = %(run_id)s)
        ), 0)
) AS journal ORDER BY plain, number;

-- name: runs
SELECT run_id, workflow_id, workflow_version, fingerprint, status, created, updated, last, epoch, due, driver
FROM agentflow_journals ORDER BY created, run_id LIMIT %(limit)s;

-- name: runs_of_status
SELECT run_id, workflow_id, workflow_version, fingerprint, status, created, updated, last, epoch, due, driver
FROM agentflow_journals
WHERE status = %(status)s AND (driver IS NULL OR driver <> ALL(%(dead)s::bigint[]))
ORDER BY created, run_id LIMIT %(limit)s;

-- name: runs_interrupted
SELECT run_id, workflow_id, workflow_version, fingerprint, status, created, updated, last, epoch, due, driver
FROM agentflow_journals
WHERE status = 'interrupted' OR (status = 'running' AND driver = ANY(%(dead)s::bigint[]))
ORDER BY created, run_id LIMIT %(limit)s;

-- name: runs_due
SELECT run_id, workflow_id, workflow_version, fingerprint, status, created, updated, last, epoch, due, driver
FROM agentflow_journals WHERE due <= %(due)s ORDER BY created, run_id LIMIT %(limit)s;

-- name: prunable_run
SELECT run_key FROM agentflow_runs WHERE run_id = %(run_id)s FOR UPDATE;

-- name: prunable
SELECT run_key FROM agentflow_journals
WHERE
    (%(older_than)s::bigint IS NULL OR updated < %(older_than)s::bigint)
    AND CASE WHEN status = 'running' AND driver = ANY(%(dead)s::bigint[]) THEN 'interrupted' ELSE status END
    = ANY(%(statuses)s::text[])
ORDER BY run_id FOR UPDATE;

-- name: delete_entries
DELETE FROM agentflow_entries WHERE run_key = %(run_key)s;

-- name: delete_snapshot
DELETE FROM agentflow_snapshots WHERE run_key = %(run_key)s;

-- name: delete_run
DELETE FROM agentflow_runs WHERE run_key = %(run_key)s;

-- name: lock_migrations
SELECT pg_advisory_xact_lock(hashtext('agentflow_schema'));

-- name: hold_driver
SELECT pg_try_advisory_lock(%(driver)s);

-- name: held_drivers
SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks
WHERE
    locktype = 'advisory' AND objsubid = 1 AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database());

-- name: add_turn
INSERT INTO agentflow_turns (resource, thread, turn, body) VALUES (%(resource)s, %(thread)s, %(turn)s, %(body)s)
ON CONFLICT (resource, thread, turn) DO NOTHING;

-- name: latest_turns
SELECT turn, body FROM agentflow_turns
WHERE resource = %(resource)s AND thread = %(thread)s ORDER BY turn_key DESC LIMIT %(last)s;

-- name: turns_by_id
SELECT turn, body FROM agentflow_turns WHERE resource = %(resource)s AND turn = ANY(%(turns)s::text[]) ORDER BY turn_key;

-- name: add_turn_record
INSERT INTO agentflow_turn_records (resource, thread, turn, place, body)
VALUES (%(resource)s, %(thread)s, %(turn)s, %(place)s, %(body)s);

-- name: drop_turn_records
DELETE FROM agentflow_turn_records
WHERE resource = %(resource)s AND thread = %(thread)s AND turn = %(turn)s AND place >= %(place)s;

-- name: turn_records
SELECT body FROM agentflow_turn_records
WHERE resource = %(resource)s AND thread = %(thread)s AND turn = %(turn)s ORDER BY place;

-- name: working_memory
SELECT body FROM agentflow_working_memory WHERE resource = %(resource)s;

-- name: put_working_memory
INSERT INTO agentflow_working_memory (resource, body) VALUES (%(resource)s, %(body)s)
ON CONFLICT (resource) DO UPDATE SET body = excluded.body;

-- name: forget_turns
-- Below a conversation are those that sub-agents have had in it.
DELETE FROM agentflow_turns
WHERE resource = %(resource)s AND (%(thread)s::text IS NULL OR thread = %(thread)s::text OR substr(thread, 1, length(%(thread)s::text) + 1) = %(thread)s::text || '/');

-- name: forget_turn_records
DELETE FROM agentflow_turn_records
WHERE resource = %(resource)s AND (%(thread)s::text IS NULL OR thread = %(thread)s::text OR substr(thread, 1, length(%(thread)s::text) + 1) = %(thread)s::text || '/');

-- name: drop_working_memory
DELETE FROM agentflow_working_memory WHERE resource = %(resource)s;
