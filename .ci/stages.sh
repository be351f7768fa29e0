# What .ci/run and .ci/long share. It is sourced, and expects `set -euo pipefail`.
#
# Sets checkout, python, work (a temporary directory, removed at the end), copy (of the checkout) and bin (of a virtual
# environment that `make_environment` makes).

checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
python=${PYTHON:-python3}
kafka_version=4.4.0
work=$(mktemp -d "${TMPDIR:-/tmp}/kafka-groups-ci.XXXXXX")
copy=$work/checkout
bin=$work/venv/bin
fault_brokers=embedded
container_job=""

export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore NO_COLOR=1 NO_MKDOCS_2_WARNING=1

clean_up() {
    if [ -n "$container_job" ]; then
        kill "$container_job" 2>/dev/null || true
        wait "$container_job" 2>/dev/null || true
        "$checkout/.ci/kafka-image" stop >/dev/null 2>&1 || true
    fi
    rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

say() {
    printf '\n==> %s\n' "$1"
}

# limited SECONDS COMMAND...: the status of the command, which has so many seconds (124 when they were not enough).
limited() {
    local limit=$1 status=0
    shift
    timeout --foreground --kill-after=60 "$limit" "$@" || status=$?
    return "$status"
}

copy_checkout() {
    mkdir -p "$copy"
    if git -C "$checkout" rev-parse --is-inside-work-tree >/dev/null 2>&1; then
        git -C "$checkout" ls-files -z --cached --others --exclude-standard |
            (cd "$checkout" && xargs -0 sh -c 'for f; do [ ! -e "$f" ] || printf "%s\0" "$f"; done' sh) |
            tar -C "$checkout" --null -T - -cf - | tar -C "$copy" -xf -
    else
        tar -C "$checkout" --exclude=.git --exclude=.venv --exclude=__pycache__ -cf - . | tar -C "$copy" -xf -
    fi
    cd "$copy"
    say "kafka_groups, a copy of $checkout in $copy, $("$python" --version)"
}

make_environment() {
    "$python" -m venv "$work/venv" && "$bin/pip" install --quiet -e '.[test,docs,lint]'
}

# The command in the README's block that is marked with <!-- test command -->.
readme_test_command() {
    awk '/<!-- test command -->/ {marked = 1} marked && /^```$/ {exit} printing {print} marked && /^```sh$/ {printing = 1}' \
        "$copy/README.md"
}

# With Java, a test with Spark that is skipped is a failure; with Maven too, one with a real Kafka.
require_what_is_there() {
    if command -v java >/dev/null; then
        export KAFKA_GROUPS_REQUIRE_SPARK=1
        say "Java is installed: the tests with Spark must run"
    fi
    if command -v java >/dev/null && command -v mvn >/dev/null; then
        export KAFKA_GROUPS_REQUIRE_REAL_KAFKA=1
        fault_brokers=embedded,kafka
        say "Java and Maven are installed: the tests with a real Kafka $kafka_version must run"
    else
        say "Java or Maven is missing: the tests with a real Kafka are skipped"
    fi
}

# Install a browser, and make a container engine and an image, while other stages run: it mostly waits for downloads and
# disks.
begin_container() {
    {
        timeout --kill-after=20 300 "$copy/.ci/browser" || true
        PYTHON=$bin/python KAFKA_VERSION=$kafka_version exec timeout --kill-after=20 900 "$copy/.ci/kafka-image"
    } >"$work/container.log" 2>&1 &
    container_job=$!
}

end_container() {
    local status=0
    say "A browser, a container engine and an image, if this machine can have them"
    wait "$container_job" || status=$?
    cat "$work/container.log"
    if [ "$status" -eq 0 ]; then
        export KAFKA_GROUPS_KAFKA_IMAGE=local/kafka:$kafka_version TESTCONTAINERS_RYUK_DISABLED=true
    else
        echo "--- no container (status $status): the tests in containers are skipped"
    fi
}
