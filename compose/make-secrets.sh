#!/bin/sh
# Makes the secrets that docker-compose.yml hands to its containers, each in a file of its own.
# What is there already stays as it is: it may run again after an upgrade.
#
#   sh compose/make-secrets.sh        # in the folder of docker-compose.yml; makes secrets/
set -eu
FOLDER=${1:-secrets}
umask 077
mkdir -p "$FOLDER"
chmod 700 "$FOLDER"

# The folder keeps others of this machine away. A container sees its files alone, whose owner it
# does not know: they are readable to its user, whoever that is.
keep() {
    [ -s "$FOLDER/$1" ] || {
        cat >"$FOLDER/.$1"
        chmod 444 "$FOLDER/.$1"
        mv "$FOLDER/.$1" "$FOLDER/$1"
    }
}
# 32 random bytes, in letters that stand in addresses and options as they are.
random() { printf k; head -c 32 /dev/urandom | base64 | tr '+/' '-_' | tr -d '=\n'; }
of() { cat "$FOLDER/$1"; }

for name in postgres_password database_owner_password database_password redis_password \
    rabbitmq_password s3_root_password s3_secret_access_key metrics_token; do
    random | keep "$name"
done
head -c 32 /dev/urandom | base64 | keep secret_key
printf 'whsec_%s\n' "$(head -c 24 /dev/urandom | base64)" | keep callback_secret

# Who migrates owns the tables; who serves may read and write rows.
printf 'postgresql+psycopg://triage_owner:%s@postgres:5432/triage\n' \
    "$(of database_owner_password)" | keep owner_database_url
printf 'postgresql+psycopg://triage_app:%s@postgres:5432/triage\n' \
    "$(of database_password)" | keep database_url
printf 'redis://triage:%s@redis:6379/0\n' "$(of redis_password)" | keep broker_redis
printf 'amqp://triage:%s@rabbitmq:5672/triage\n' "$(of rabbitmq_password)" | keep broker_rabbitmq

# The wake-ups need no right over the server: nobody without a name gets in, and the health
# check may ask whether it lives, no more.
keep redis_acl <<ACL
user default off
user health on nopass resetkeys resetchannels -@all +ping
user triage on >$(of redis_password) ~* &* +@all -@admin -@dangerous +info
ACL
keep rabbitmq_conf <<CONF
default_vhost = triage
default_user = triage
default_pass = $(of rabbitmq_password)
default_user_tags.administrator = false
CONF
