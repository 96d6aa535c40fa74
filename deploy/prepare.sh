#!/bin/sh
# Makes what the containers need to know, once: passwords, certificates, rights. Run as root: the files belong to the containers' users.
#   deploy/prepare.sh [DIRECTORY]        default: private, beside this file
# BANKSMAN_PAGE is the host name under which people open the approval page; default: banksman.home.arpa
set -eu
umask 077

here=$(cd "$(dirname "$0")" && pwd)
place=${1:-$here/private}
page=${BANKSMAN_PAGE:-banksman.home.arpa}
acl=$here/../test/fixtures/valkey/users.acl

[ "$(id -u)" = 0 ] || { echo "run this as root: the files are given to the containers' users" >&2; exit 1; }
[ ! -e "$place" ] || { echo "$place is there already; new passwords need a new directory, and a restart of all containers" >&2; exit 1; }
command -v openssl >/dev/null || { echo "openssl is missing" >&2; exit 1; }

mkdir -p "$place"
trap 'rm -rf "$place"' EXIT
cd "$place"
mkdir config tools admin valkey valkey-data

secret() { openssl rand -hex 32; }
agent=$(secret) exec=$(secret) admin=$(secret) writer=$(secret) trimmer=$(secret) health=$(secret)

# Each line of the documented rights, with its password's hash instead of the sample's. The server itself acts as `default`, and nobody can log in as it.
hash() { printf %s "$1" | openssl dgst -sha256 -r | cut -d' ' -f1; }
password_of() {
  case $1 in
    mcp-agent) echo "$agent" ;; mcp-exec) echo "$exec" ;; mcp-admin) echo "$admin" ;;
    log-writer) echo "$writer" ;; log-trimmer) echo "$trimmer" ;; healthcheck) echo "$health" ;;
    *) echo "unknown user $1 in $acl" >&2; exit 1 ;;
  esac
}
while read -r word user rest; do
  if [ "$user" = default ]; then
    echo 'user default off resetpass ~* &* +@all'
  else
    password=$(password_of "$user")
    echo "$word $user $(printf %s "$rest" | sed "s/#[0-9a-f]\{64\}/#$(hash "$password")/")"
  fi
done < "$acl" > valkey/users.acl
printf %s "$health" > valkey/health
cp "$here/valkey.conf" valkey/

# An authority of its own, which signs the one certificate and is gone.
subject='/O=Banksman deployment'
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 -subj "$subject/CN=authority" \
  -addext 'basicConstraints=critical,CA:TRUE' -addext 'keyUsage=critical,keyCertSign' -keyout ca.key -out valkey/ca.pem 2>/dev/null
openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "$subject/CN=valkey" -keyout valkey/server.key -out server.csr 2>/dev/null
printf 'subjectAltName=IP:10.10.2.4,DNS:valkey\nextendedKeyUsage=serverAuth\n' > server.ext
openssl x509 -req -in server.csr -CA valkey/ca.pem -CAkey ca.key -CAcreateserial -days 825 -extfile server.ext -out valkey/server.pem 2>/dev/null
# For the page: until one is there that people's devices trust, they have to be told to trust this authority (config/valkey-ca.pem).
openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "$subject/CN=page" -keyout config/page.key -out server.csr 2>/dev/null
printf 'subjectAltName=DNS:%s\nextendedKeyUsage=serverAuth\n' "$page" > server.ext
openssl x509 -req -in server.csr -CA valkey/ca.pem -CAkey ca.key -CAcreateserial -days 825 -extfile server.ext -out config/page.pem 2>/dev/null
rm -f ca.key server.csr server.ext valkey/ca.srl
cp valkey/ca.pem config/valkey-ca.pem

role() { printf '"%s": { "password": "%s" }' "$1" "$2"; }
echo "{ $(role agent "$agent"), $(role exec "$exec"), $(role log-writer "$writer") }" > tools/credentials.json
echo "{ $(role admin "$admin"), $(role log-trimmer "$trimmer") }" > admin/credentials.json
cat > config/config.json <<END
{
  "approvers": [],
  "page": { "origin": "https://$page:8443", "host": "10.10.4.2", "certFile": "page.pem", "keyFile": "page.key" }
}
END

# The tools read the configuration (not the page's key) and cannot write it; who administers pins keys in it.
chown -R 10001:10001 tools
chown -R 10003:10003 admin config
chown -R 10002:10002 valkey valkey-data
chmod 755 config
chmod 644 config/config.json config/valkey-ca.pem config/page.pem
trap - EXIT
echo "made $place; next: name your clusters in $place/config/config.json, then docker compose -f $here/compose.yaml up -d --build"
