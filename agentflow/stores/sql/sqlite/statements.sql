-- name: find_schema
SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'agentflow_schema';

-- name: make_schema
CREATE TABLE IF NOT EXISTS agentflow_schema (version INTEGER PRIMARY KEY);

-- name: schema_version
SELECT coalesce(max(version), 0) FROM agentflow_schema;

-- name: add_schema_version
INSERT INTO agentflow_schema (version) VALUES (:version);

-- name: drivers
SELECT driver, machine, pid, began, lease_until < :now FROM agentflow_drivers;

-- name: driver
SELECT driver, machine, pid, began, lease_until < :now FROM agentflow_drivers WHERE driver = :driver;

-- name: renew_driver
INSERT INTO agentflow_drivers (driver, machine, pid, began, lease_until)
VALUES (:driver, :machine, :pid, :began, :now + :lease)
ON CONFLICT (driver) DO UPDATE SET lease_until = excluded.lease_until;

-- name: drop_driver
DELETE FROM agentflow_drivers
WHERE driver = :driver AND NOT EXISTS (SELECT 1 FROM agentflow_runs AS r WHERE r.driver = :driver);

-- name: run
SELECT run_id, workflow_id, workflow_version, fingerprint, status, created, updated, last, epoch, due, driver
FROM agentflow_journals WHERE run_id = :run_id;

-- name: add_run
INSERT INTO agentflow_runs
(run_id, workflow_id, workflow_version, fingerprint, status, created, updated, epoch, driver)
VALUES (:run_id, :workflow_id, :workflow_version, :fingerprint, 'running', :created, :created, 1, :driver)
ON CONFLICT (run_id) DO NOTHING;

-- name: take_run
-- Only as it was seen: whoever claims it in between is not robbed.
UPDATE agentflow_runs SET status = 'running', epoch = epoch + 1, driver = :driver, due = NULL
WHERE run_id = :run_id AND epoch = :epoch AND status = :status;

-- name: fences
-- One row for all: a row costs a way out of the interpreter and back in, and there somebody else may be at work.
SELECT json_group_array(json_array(
    run_id, run_key, epoch, coalesce((SELECT max(number) FROM agentflow_entries AS e WHERE e.run_key = r.run_key), 0)
))
FROM agentflow_runs AS r WHERE run_id IN (SELECT value FROM json_each(:run_ids)) AND driver = :driver;

-- name: append_one
-- An append of one entry in one statement, which commits by itself; it has the lock before it looks. Without a run that fits, the
-- key is NULL and nothing is inserted. (A SELECT in place of the VALUES would be copied first, because it reads where it inserts.)
INSERT OR IGNORE INTO agentflow_entries (run_key, number, kind, body, written)
VALUES (
    (
        SELECT run_key FROM agentflow_runs AS r
        WHERE
            run_id = :run_id AND epoch = :epoch AND driver = :driver
            AND :number = 1 + coalesce((SELECT max(number) FROM agentflow_entries AS e WHERE e.run_key = r.run_key), 0)
    ),
    :number, :kind, :body, :written
);

-- name: add_entries
INSERT INTO agentflow_entries (run_key, number, kind, body, written)
SELECT
    json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'), json_extract(value, '$[3]'), :written
FROM json_each(:entries);

-- name: put_snapshot
INSERT INTO agentflow_snapshots (run_key, number, body) VALUES (:run_key, :number, packed(:body))
ON CONFLICT (run_key) DO UPDATE SET number = excluded.number, body = excluded.body;

-- name: give_back
UPDATE agentflow_runs SET status = :status, due = :due, updated = :updated, driver = NULL WHERE run_key = :run_key;

-- name: abandon
UPDATE agentflow_runs SET status = 'interrupted', driver = NULL
WHERE run_id = :run_id AND epoch = :epoch AND driver = :driver;

-- name: disown
UPDATE agentflow_runs SET status = 'interrupted', driver = NULL
WHERE run_id = :run_id AND driver = :driver AND epoch <> :held;

-- name: abandon_all
UPDATE agentflow_runs SET status = 'interrupted', driver = NULL WHERE driver = :driver;

-- name: entries_after
SELECT number, kind, body FROM agentflow_entries
WHERE run_key = (SELECT run_key FROM agentflow_runs WHERE run_id = :run_id) AND number > :after
ORDER BY number;

-- name: entries_from_snapshot
SELECT number, kind, body FROM (
    SELECT 0 AS plain, number, 'snapshot' AS kind, unpacked(body) AS body FROM agentflow_snapshots
    WHERE run_key = (SELECT run_key FROM agentflow_runs WHERE run_id = :run_id)
    UNION ALL
    SELECT 1 AS plain, number, kind, body FROM agentflow_entries
    WHERE
        run_key = (SELECT run_key FROM agentflow_runs WHERE run_id = :run_id)
        AND number > coalesce((
            SELECT number FROM agentflow_snapshots
            WHERE run_key = (SELECT run_key FROM agentflow_runs WHERE run_id = :run_id)
        ), 0)
) AS journal ORDER BY plain, number;

-- name: runs
SELECT run_id, workflow_id, workflow_version, fingerprint, status, created, updated, last, epoch, due, driver
FROM agentflow_journals ORDER BY created, run_id LIMIT :limit;

-- name: runs_of_status
SELECT run_id, workflow_id, workflow_version, fingerprint, status, created, updated, last, epoch, due, driver
FROM agentflow_journals
WHERE status = :status AND (driver IS NULL OR driver NOT IN (SELECT value FROM json_each(:dead)))
ORDER BY created, run_id LIMIT :limit;

-- name: runs_interrupted
SELECT run_id, workflow_id, workflow_version, fingerprint, status, created, updated, last, epoch, due, driver
FROM agentflow_journals
WHERE status = 'interrupted' OR (status = 'running' AND driver IN (SELECT value FROM json_each(:dead)))
ORDER BY created, run_id LIMIT :limit;

-- name: runs_due
SELECT run_id, workflow_id, workflow_version, fingerprint, status, created, updated, last, epoch, due, driver
FROM agentflow_journals WHERE due <= :due ORDER BY created, run_id LIMIT :limit;

-- name: prunable_run
SELECT run_key FROM agentflow_runs WHERE run_id = :run_id;

-- name: prunable
SELECT run_key FROM agentflow_journals
WHERE
    (:older_than IS NULL OR updated < :older_than)
    AND CASE WHEN status = 'running' AND driver IN (SELECT value FROM json_each(:dead)) THEN 'interrupted' ELSE status END
    IN (SELECT value FROM json_each(:statuses));

-- name: delete_entries
DELETE FROM agentflow_entries WHERE run_key = :run_key;

-- name: delete_snapshot
DELETE FROM agentflow_snapshots WHERE run_key = :run_key;

-- name: delete_run
DELETE FROM agentflow_runs WHERE run_key = :run_key;

-- name: add_turn
INSERT INTO agentflow_turns (resource, thread, turn, body) VALUES (:resource, :thread, :turn, :body)
ON CONFLICT (resource, thread, turn) DO NOTHING;

-- name: latest_turns
SELECT turn, body FROM agentflow_turns
WHERE resource = :resource AND thread = :thread ORDER BY turn_key DESC LIMIT :last;

-- name: turns_by_id
SELECT turn, body FROM agentflow_turns WHERE resource = :resource AND turn IN (SELECT value FROM json_each(:turns)) ORDER BY turn_key;

-- name: add_turn_record
INSERT INTO agentflow_turn_records (resource, thread, turn, place, body)
VALUES (:resource, :thread, :turn, :place, :body);

-- name: drop_turn_records
DELETE FROM agentflow_turn_records
WHERE resource = :resource AND thread = :thread AND turn = :turn AND place >= :place;

-- name: turn_records
SELECT body FROM agentflow_turn_records
WHERE resource = :resource AND thread = :thread AND turn = :turn ORDER BY place;

-- name: working_memory
SELECT body FROM agentflow_working_memory WHERE resource = :resource;

-- name: put_working_memory
INSERT INTO agentflow_working_memory (resource, body) VALUES (:resource, :body)
ON CONFLICT (resource) DO UPDATE SET body = excluded.body;

-- name: forget_turns
-- Below a conversation are those that sub-agents have had in it.
DELETE FROM agentflow_turns
WHERE resource = :resource AND (:thread IS NULL OR thread = :thread OR substr(thread, 1, length(:thread) + 1) = :thread || '/');

-- name: forget_turn_records
DELETE FROM agentflow_turn_records
WHERE resource = :resource AND (:thread IS NULL OR thread = :thread OR substr(thread, 1, length(:thread) + 1) = :thread || '/');

-- name: drop_working_memory
DELETE FROM agentflow_working_memory WHERE resource = :resource;
