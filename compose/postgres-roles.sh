#!/bin/sh
# Two roles with no more rights than they need: `triage_owner` makes and changes tables
# (`triage migrate`), `triage_app` reads and writes rows. The image runs this once, on an empty
# database. It may run again, also on the database of an older docker-compose.yml:
#
#   docker compose exec postgres sh /docker-entrypoint-initdb.d/roles.sh
set -eu
SECRETS=${SECRETS:-/run/secrets}
psql -v ON_ERROR_STOP=1 -q --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" \
    -v owner="${OWNER_ROLE:-triage_owner}" -v app="${APP_ROLE:-triage_app}" \
    -v database="$POSTGRES_DB" -v owner_password="$(cat "$SECRETS/database_owner_password")" \
    -v app_password="$(cat "$SECRETS/database_password")" <<'SQL'
SELECT format('CREATE ROLE %I', role) FROM unnest(ARRAY[:'owner', :'app']) AS role
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role) \gexec
ALTER ROLE :"owner" LOGIN PASSWORD :'owner_password';
ALTER ROLE :"app" LOGIN PASSWORD :'app_password';
REVOKE ALL ON DATABASE :"database" FROM PUBLIC;
GRANT CONNECT ON DATABASE :"database" TO :"owner", :"app";
REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT USAGE, CREATE ON SCHEMA public TO :"owner";
GRANT USAGE ON SCHEMA public TO :"app";
-- What an older release made as another role.
SELECT format('ALTER TABLE public.%I OWNER TO %I', tablename, :'owner')
FROM pg_tables WHERE schemaname = 'public' AND tableowner <> :'owner' \gexec
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO :"app";
GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO :"app";
ALTER DEFAULT PRIVILEGES FOR ROLE :"owner" IN SCHEMA public
    GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO :"app";
ALTER DEFAULT PRIVILEGES FOR ROLE :"owner" IN SCHEMA public
    GRANT USAGE, SELECT ON SEQUENCES TO :"app";
SQL
