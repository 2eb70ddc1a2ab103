// SPDX-License-Identifier: Apache-2.0
// libcrypto's archive asks the CPU what it can before main, by a dozen CPUID instructions, each of which leaves a virtual machine:
// a fifteenth of every start of sandbox, for a library that only a TLS engine needs. The linker puts this in the place of that
// (--wrap, see meson.build); libcrypto asks again when it is first used.

namespace {

// _init runs before this (System V ABI: DT_INIT, then DT_INIT_ARRAY).
bool g_is_past_init = false;
[[gnu::constructor]] void note_init() { g_is_past_init = true; }

} // namespace

extern "C" void __real_OPENSSL_cpuid_setup();
extern "C" void __wrap_OPENSSL_cpuid_setup();
extern "C" void __wrap_OPENSSL_cpuid_setup() {
    if (g_is_past_init) __real_OPENSSL_cpuid_setup();
}
