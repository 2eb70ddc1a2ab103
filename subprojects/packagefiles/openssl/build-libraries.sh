#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# build-libraries.sh SOURCE OUTPUT COMPILER...: OpenSSL's static libraries, with certificates looked for where most systems have them.
set -eu
source=$1 output=$2
shift 2
rm -rf "$output/tree" # what an interrupted run left may be half a header
mkdir -p "$output/tree"
output=$(cd "$output" && pwd)
cd "$output/tree"
CC="$*" perl "$source/Configure" no-shared no-module no-dso no-tests --prefix=/usr --libdir=lib --openssldir=/etc/ssl >configure.log
make -s -j"$(nproc)" build_generated
make -s -j"$(nproc)" libcrypto.a libssl.a
cp libssl.a libcrypto.a "$output"
: >"$output/openssl_is_built.h"
