#!/bin/sh
# Sends a notification to one user and prints its path. The server stores the notification only
# once, even if curl retries.
#
#   SEALPOST_TOKEN=spt_… examples/publish.sh https://push.example.com alice "Your test result is in."
#
# The token is a publisher's, with the scope `send`: sealpost token create NAME --scope send
set -eu
[ $# -eq 3 ] || { echo "usage: $0 SERVER USER TEXT" >&2; exit 64; }
is_safe=no
case $1 in
# The host of http://localhost:1@example.com is example.com.
http://*@*) ;;
https://* | http://localhost | http://localhost:* | http://127.0.0.1 | http://127.0.0.1:* | http://\[::1\] | http://\[::1\]:*)
    is_safe=yes ;;
esac
[ $is_safe = yes ] || { echo "$1: http sends the token in clear: use https" >&2; exit 64; }
# With other characters the name could be read as an expression, such as `alice || username:bob`.
characters=ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@#+.-
case $2 in
"" | *[!$characters]*) echo "$2: this is not the name of a user" >&2; exit 64 ;;
esac

# Escapes the characters of a text that JSON does not allow. The server refuses other control characters. Each line ends with an
# escaped line break, which is removed from the last line.
tab=$(printf '\t') return=$(printf '\r')
text=$(printf '%s\n' "$3" | sed -e 's/[\\"]/\\&/g' -e "s/$tab/\\\\t/g" -e "s/$return/\\\\r/g" -e 's/$/\\n/' | tr -d '\n')
text=${text%\\n}
answer=$(mktemp)
trap 'rm -f "$answer"' EXIT
# Retries after a timeout and after 408, 429, 500, 502, 503 and 504. Curl reads the token from its input, since other users can
# see a program's arguments.
printf 'Authorization: Bearer %s' "$SEALPOST_TOKEN" | curl --silent --show-error --fail-with-body --output "$answer" --write-out '%header{location}\n' \
    --noproxy 'localhost,127.0.0.1,::1' --max-time 20 --retry 5 --retry-connrefused --retry-max-time 120 \
    --header @- --header "Idempotency-Key: $(cat /proc/sys/kernel/random/uuid)" \
    --data "{\"Payload\": \"$text\", \"To\": [\"username:$2\"]}" "$1/api/notifications" || {
    code=$?
    cat "$answer" >&2
    exit "$code"
}
