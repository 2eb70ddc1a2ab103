// SPDX-License-Identifier: Apache-2.0
// The keys of the manifest: what each accepts, what it refuses and how that reads.
#include "domain/manifest.hpp"

#include "expect_error.hpp"

#include <doctest/doctest.h>

using namespace sandbox::domain;
using namespace sandbox::tests;
using sandbox::ErrorCode;

namespace {

Manifest build(const std::string& text) {
    ManifestBuilder builder;
    builder.add_document("m.yaml", text, "/project");
    return builder.build();
}
// With an image, which is needed and mostly beside the point; the text starts in line 2.
Manifest with_image(const std::string& text) {
    return build("image: x\n" + text);
}
sandbox::Error refused(const std::string& text) {
    auto error = error_of([&] { with_image(text); });
    CHECK(error.code() == ErrorCode::manifest_invalid);
    return error;
}
const Seed& seed_at(const Manifest& manifest, std::string_view path) {
    for (const Seed& seed : manifest.seeds) {
        if (seed.path == path) return seed;
    }
    FAIL("no such seed");
    return manifest.seeds.front();
}

} // namespace

TEST_CASE("the manifest of the manual") {
    const Manifest m = build(R"(
version: 1
image: node:22-bookworm
workdir: /workspace
user: "1000:1000"
workspace: {mode: ephemeral}
labels: {jobId: "981", tenantId: acme}
env:
  REPORT_LOCALE: de
  API_TOKEN: {fromEnv: API_TOKEN}
  OTHER: {fromFile: secrets/other}
directories: [output, {path: cache, mode: "0700"}]
files:
  input/ticket.txt: "text as it is"
  run.sh: {text: "#!/bin/sh\n...", mode: "0755"}
  logo.png: {base64: "iVBORw0="}
  src: {fromDir: ./src, exclude: [".git", "node_modules"]}
  data.csv: {fromFile: data.csv}
  vendor: {fromArchive: vendor.tar.zst}
  repo: {fromGit: "https://example.com/r.git", ref: main}
  latest: {symlink: output/1}
limits: {timeout: 20s, maxOutput: 64KB, maxFile: 256KB, memory: 512MB, cpus: 1.5, pids: 64, maxProcesses: 3}
network: bridge
publish: [5173]
tmpfs: {/tmp: 64MB}
security: {readonlyRootfs: true, noNewPrivileges: true, dropCapabilities: [ALL], addCapabilities: [CAP_CHOWN], seccomp: default, runtime: runc}
lifecycle: {ttl: 30m, idleTimeout: 5m, autoDestroy: false}
checkpoint: {store: "dir:", retain: 3, durable: false}
export: {files: {output/report.md: ./report.md}, optional: [coverage], scan: [clamscan, -]}
policy: {exec: {maxTimeout: 60s}}
)");
    CHECK(m.image == "node:22-bookworm");
    CHECK(m.user == "1000:1000");
    CHECK(m.labels.at("jobId") == "981");
    CHECK(m.env.at("REPORT_LOCALE").value == "de");
    CHECK(m.env.at("API_TOKEN").kind == EnvValue::Kind::from_env);
    CHECK(m.env.at("OTHER").value == "/project/secrets/other");
    CHECK(seed_at(m, "cache").mode == 0700);
    CHECK(seed_at(m, "output").kind == Seed::Kind::directory);
    CHECK(seed_at(m, "input/ticket.txt").content == "text as it is");
    CHECK(seed_at(m, "run.sh").mode == 0755);
    CHECK(seed_at(m, "logo.png").content == "\x89PNG\r");
    CHECK(seed_at(m, "src").content == "/project/src");
    CHECK(seed_at(m, "src").exclude == std::vector<std::string>{".git", "node_modules"});
    CHECK(seed_at(m, "data.csv").kind == Seed::Kind::from_file);
    CHECK(seed_at(m, "vendor").kind == Seed::Kind::from_archive);
    CHECK(seed_at(m, "repo").ref == "main");
    CHECK(seed_at(m, "latest").content == "output/1");
    CHECK(m.limits.timeout == std::chrono::seconds(20));
    CHECK(m.limits.max_file == 256'000);
    CHECK(m.limits.memory == 512'000'000);
    CHECK(m.limits.cpus == doctest::Approx(1.5));
    CHECK(m.limits.max_processes == 3);
    CHECK(m.network == NetworkMode::bridge);
    CHECK(m.publish == std::vector<std::uint16_t>{5173});
    CHECK(m.tmpfs.at("/tmp") == 64'000'000);
    CHECK(m.security.add_capabilities == std::vector<std::string>{"CHOWN"});
    CHECK(m.security.runtime == "runc");
    CHECK(m.lifecycle.idle_timeout == std::chrono::minutes(5));
    CHECK_FALSE(m.lifecycle.auto_destroy);
    CHECK(m.extensions_json ==
          R"({"checkpoint":{"durable":false,"retain":3,"store":"dir:"},)"
          R"("export":{"files":{"output/report.md":"/project/report.md"},"optional":["coverage"],"scan":["clamscan","-"]},)"
          R"("policy":{"exec":{"maxTimeout":"1m"}}})");
}

TEST_CASE("unknown keys are shown with place, caret and the nearest known one") {
    const auto error = refused("limits:\n  tiemout: 5s\n");
    CHECK(error.message() == "m.yaml:3:3: unknown key \"tiemout\"; did you mean \"timeout\"?\n    tiemout: 5s\n    ^");
    CHECK(contains(refused("polciy: {}\n").message(), "did you mean \"policy\"?"));
    CHECK(contains(refused("policy: {exec: {maxTimeuot: 5s}}\n").message(), "did you mean \"maxTimeout\"?"));
    CHECK(contains(refused("export: {fiels: {}}\n").message(), "did you mean \"files\"?"));
    CHECK(contains(refused("files: {a: {txet: x}}\n").message(), "did you mean \"text\"?"));
    CHECK(contains(refused("env: {A: {fromenv: B}}\n").message(), "did you mean \"fromEnv\"?"));
    CHECK(contains(refused("zzzz: 1\n").hint(), "lifecycle"));
}

TEST_CASE("a scan that names no command is none, and is not taken for one") {
    const auto error = refused("export:\n  scan: []\n");
    CHECK(error.message().starts_with("m.yaml:3:9: export.scan: a command and its arguments, and this names none"));
    CHECK(error.hint() == "leave the key out, or write it as in [clamscan, \"-\"]");
    CHECK(contains(refused("export: {scan: }\n").message(), "names none"));
    // A session that was made when it was still taken can be used and ended.
    CHECK_NOTHROW(from_canonical_json(R"({"export":{"scan":[]},"image":"x"})"));
}

TEST_CASE("a key under the wrong parent is told where it belongs") {
    CHECK(refused("limits: {env: {A: b}}\n").hint() == "\"env\" belongs at the top level");
    CHECK(refused("timeout: 5s\n").hint() == "\"timeout\" belongs under \"limits\": limits.timeout");
    CHECK(refused("ttl: 5m\n").hint() == "\"ttl\" belongs under \"lifecycle\": lifecycle.ttl");
    CHECK(refused("limits: {idleTimeout: 5s}\n").hint() == "\"idleTimeout\" belongs under \"lifecycle\": lifecycle.idleTimeout");
    CHECK(refused("maxTimeout: 5s\n").hint() == "\"maxTimeout\" belongs under \"policy.exec\": policy.exec.maxTimeout");
    CHECK(refused("environment: {}\n").hint() == "it is called \"env\" and belongs at the top level");
}

TEST_CASE("a misspelled key under the wrong parent is told what it is called and where it belongs") {
    const auto error = refused("tiemout: 5s\n");
    CHECK(contains(error.message(), "unknown key \"tiemout\"; did you mean \"limits.timeout\"?"));
    CHECK(error.hint() == "it is called \"timeout\" and belongs under \"limits\": limits.timeout");
    CHECK(contains(refused("lifecycle: {memroy: 1GB}\n").message(), "did you mean \"limits.memory\"?"));
    CHECK(contains(refused("limits: {imgae: x}\n").hint(), "it is called \"image\" and belongs at the top level"));
    // What is spelled nearly so in the right place is meant first.
    CHECK(contains(refused("polcy: {}\n").message(), "did you mean \"policy\"?"));
}

TEST_CASE("wrong kinds are refused at the value") {
    CHECK(contains(refused("limits: [a]\n").message(), "m.yaml:2:9: limits: a list, where a map is wanted"));
    CHECK(contains(refused("env: [A=b]\n").message(), "env: a list, where a map is wanted"));
    CHECK(contains(refused("publish: 80\n").message(), "publish: text, where a list is wanted"));
    CHECK(contains(refused("user: {a: b}\n").message(), "user: a map, where text is wanted"));
    CHECK(contains(refused("user:\n").message(), "m.yaml:2:1: user: no value"));
    CHECK(contains(refused("user: !!binary aGk=\n").message(), "!!binary"));
    CHECK(contains(error_of([] { build("- a\n"); }).message(), "a manifest is a map, and this is a list"));
    CHECK(with_image("env:\nfiles:\nlimits:\npublish:\n").env.empty());
}

TEST_CASE("an image is needed") {
    const auto error = error_of([] { build(""); });
    CHECK(error.code() == ErrorCode::manifest_invalid);
    CHECK(contains(error.hint(), "--image"));
    for (const char* image : {"''", "-x", "'a b'", "\"a\\nb\""}) {
        CAPTURE(image);
        CHECK(error_of([&] { build(std::string("image: ") + image); }).code() == ErrorCode::manifest_invalid);
    }
}

TEST_CASE("only version 1 is read") {
    CHECK(with_image("version: 1\n").image == "x");
    CHECK(contains(refused("version: 2\n").hint(), "version: 1"));
}

TEST_CASE("env values are text as written") {
    const Manifest m = with_image("env: {A: no, B: 1.10, C: 22:22, D: '', E: 0644, F: 'a\"b$$c${D}', G: \"a\\nb\", H: true}\n");
    CHECK(m.env.at("A").value == "no");
    CHECK(m.env.at("B").value == "1.10");
    CHECK(m.env.at("C").value == "22:22");
    CHECK(m.env.at("D").value.empty());
    CHECK(m.env.at("E").value == "0644");
    CHECK(m.env.at("F").value == "a\"b$$c${D}");
    CHECK(m.env.at("G").value == "a\nb");
    CHECK(m.env.at("H").value == "true");
    CHECK(contains(refused("env:\n  A:\n").message(), "m.yaml:3:3: env.A: no value"));
    CHECK(contains(refused("env: {A: ~}\n").hint(), "\"\""));
    CHECK(contains(refused("env: {A: null}\n").message(), "no value"));
    CHECK(contains(refused("env: {A: [b]}\n").message(), "a list"));
    CHECK(contains(refused("env: {A: {fromEnv: B, fromFile: c}}\n").message(), "give one of"));
    CHECK(contains(refused("env: {A: {}}\n").message(), "give one of"));
    CHECK(contains(refused("env: {A: \"x\\0y\"}\n").message(), "NUL"));
    refused("env: {'': x}\n");
    refused("env: {'A=B': x}\n");
    refused("env: {A: {fromEnv: 'B=C'}}\n");
}

TEST_CASE("labels are text, and metadata is the same key") {
    CHECK(with_image("labels: {a: 5}\n").labels.at("a") == "5");
    CHECK(with_image("metadata: {a: x}\n").labels.at("a") == "x");
    CHECK(contains(refused("labels: {}\nmetadata: {}\n").message(), "the same key"));
    CHECK(contains(refused("labels: {a: }\n").message(), "no value"));
    refused("labels: {'a b': x}\n");
}

TEST_CASE("a workspace has a short form") {
    const Workspace workspace = with_image("workspace: project-42\n").workspace;
    CHECK(workspace.mode == WorkspaceMode::persistent);
    CHECK(workspace.id == "project-42");
    CHECK(workspace.create);
    CHECK_FALSE(workspace.destroy_on_session_destroy);
    CHECK(with_image("workspace: {id: p}\n").workspace.mode == WorkspaceMode::persistent);
    CHECK(with_image("workspace: ephemeral\n").workspace.mode == WorkspaceMode::ephemeral);
    CHECK(with_image("workspace: {id: p, create: false, shared: true}\n").workspace.shared);
    CHECK(contains(refused("workspace: persistent\n").message(), "needs a name"));
    refused("workspace: ../x\n");
    refused("workspace: {mode: ephemeral, id: p}\n");
    refused("workspace: {shared: true}\n");
    refused("workspace: {id: p, readonly: true}\ndirectories: [a]\n");
    refused("workspace: {id: p, shared: yes}\n");
}

TEST_CASE("files say one thing each") {
    CHECK(seed_at(with_image("files: {a: \"\"}\n"), "a").content.empty());
    CHECK(seed_at(with_image("files: {a: !!binary AAEC}\n"), "a").content == std::string("\0\1\2", 3));
    CHECK(seed_at(with_image("files: {a: {text: !!binary AAEC}}\n"), "a").content == std::string("\0\1\2", 3));
    CHECK(seed_at(with_image("files: {a: 5}\n"), "a").content == "5");
    CHECK(contains(refused("files: {a: }\n").hint(), "\"\""));
    CHECK(contains(refused("files: {a: [b]}\n").message(), "a list"));
    CHECK(contains(refused("files: {a: {}}\n").hint(), "fromFile"));
    CHECK(contains(refused("files: {a: {text: x, base64: eA==}}\n").message(), "both text and base64"));
    CHECK(contains(refused("files: {a: {base64: x}}\n").message(), "not base64"));
    CHECK(contains(refused("files: {a: {text: x, ref: y}}\n").message(), "ref: not for this kind"));
    CHECK(contains(refused("files: {a: {symlink: b, mode: 0755}}\n").message(), "mode: not for this kind"));
    CHECK(contains(refused("files: {a: {fromFile: b, exclude: [c]}}\n").message(), "exclude: not for this kind"));
    CHECK(contains(refused("files: {a: {symlink: ''}}\n").message(), "target"));
    CHECK(contains(refused("files: {a: {base64: " + std::string(3'500'000, 'A') + ", mode: 9}}\n").message(), "octal"));
}

TEST_CASE("modes are read from their text") {
    for (const char* mode : {"0644", "644", "0o644", "\"0644\""}) {
        CAPTURE(mode);
        CHECK(seed_at(with_image(std::string("files: {a: {text: x, mode: ") + mode + "}}\n"), "a").mode == 0644);
    }
    CHECK(contains(refused("files:\n  a: {text: x, mode: 0888}\n").message(), "m.yaml:3:22: files.a.mode: \"0888\""));
    refused("files: {a: {text: x, mode: 0x1a4}}\n");
    refused("directories: [{path: a, mode: rwx}]\n");
}

TEST_CASE("workspace paths are relative, normalised and inside") {
    CHECK(seed_at(with_image("files: {./a//b/./c: x}\n"), "a/b/c").content == "x");
    CHECK(seed_at(with_image("directories: [a/b/]\n"), "a/b").kind == Seed::Kind::directory);
    CHECK(seed_at(with_image("files: {.: {fromDir: src}}\n"), ".").kind == Seed::Kind::from_dir);
    for (const char* path : {"/etc/passwd", "../x", "a/../../x", "a/..", "''", ".", "./", "a/", "\"a\\0b\""}) {
        CAPTURE(path);
        const auto error = refused(std::string("files:\n  ? ") + path + "\n  : x\n");
        CHECK(contains(error.message(), "m.yaml:3:"));
    }
    refused("directories: [.]\n");
    refused("directories: [../x]\n");
    refused("directories: [{mode: 0700}]\n");
    refused("files: {" + std::string(256, 'a') + ": x}\n");
}

TEST_CASE("seeds that exclude each other are refused") {
    CHECK(contains(refused("files:\n  a: x\n  ./a: y\n").message(), "m.yaml:4:3: \"a\" is given twice"));
    CHECK(contains(refused("files: {a: x, a/b: y}\n").message(), "\"a/b\" is below \"a\""));
    CHECK(contains(refused("files: {a: {symlink: /etc}, a/b: y}\n").message(), "not a directory"));
    CHECK(contains(refused("files: {a: x}\ndirectories: [a/b]\n").message(), "not a directory"));
    CHECK(contains(refused("files: {a: x}\ndirectories: [a]\n").message(), "given twice"));
    CHECK(contains(refused("directories: [a, a/]\n").message(), "m.yaml:2:18: \"a\" is given twice"));
    CHECK(with_image("files: {src: {fromDir: s}, src/x: y}\n").seeds.size() == 2);
}

TEST_CASE("seeds come in the order to make them") {
    const Manifest m = with_image("files: {z: x, .: {fromDir: s}, b/a: x, -x: y}\ndirectories: [b, a]\n");
    std::vector<std::string> paths;
    for (const Seed& seed : m.seeds) paths.push_back(seed.path);
    CHECK(paths == std::vector<std::string>{"a", "b", ".", "-x", "b/a", "z"});
}

TEST_CASE("host paths stay in the manifest's folder") {
    CHECK(seed_at(with_image("files: {a: {fromFile: ./x/../y}}\n"), "a").content == "/project/y");
    CHECK(seed_at(with_image("files: {a: {fromFile: /project/y}}\n"), "a").content == "/project/y");
    CHECK(seed_at(with_image("files: {a: {fromDir: .}}\n"), "a").content == "/project");
    const auto error = refused("files:\n  a: {fromDir: ../lib}\n");
    CHECK(contains(error.message(), "m.yaml:3:16: files.a.fromDir: \"../lib\" leaves the manifest's folder"));
    CHECK(contains(error.hint(), "--allow-path"));
    refused("files: {a: {fromFile: /etc/passwd}}\n");
    refused("files: {a: {fromFile: x/../../y}}\n");
    refused("files: {a: {fromFile: /project2/x}}\n");
    refused("env: {A: {fromFile: ../x}}\n");
    refused("security: {seccomp: ../p.json}\n");
    refused("files: {a: {fromArchive: ../v.tar}}\n");
    refused("files: {a: {fromGit: ../repo}}\n");
    refused("export: {files: {a: ../out}}\n");
    refused("files: {a: {fromFile: \"x\\0\"}}\n");

    ManifestBuilder builder;
    builder.allow_path("/lib");
    builder.add_document("m.yaml", "image: x\nfiles: {a: {fromDir: ../lib/y}}\n", "/project");
    CHECK(seed_at(builder.build(), "a").content == "/lib/y");
}

TEST_CASE("a relative folder holds its paths as an absolute one does") {
    const auto content = [](const std::string& path, const std::string& base, const std::string& allowed) {
        ManifestBuilder builder;
        if (!allowed.empty()) builder.allow_path(allowed);
        builder.add_document("m.yaml", "image: x\nfiles: {a: {fromFile: " + path + "}}\n", base);
        return builder.build().seeds.at(0).content;
    };
    CHECK(content("f", "ci", "") == "ci/f");
    CHECK(content("f", ".", "") == "f");
    CHECK(content("f", "..", "") == "../f");
    CHECK(content("../f", "ci", ".") == "f");
    CHECK(content("../src/f", "ci", "./src") == "src/f");
    CHECK_THROWS(content("../f", "ci", ""));
    CHECK_THROWS(content("../f", ".", "ci"));
    CHECK_THROWS(content("../f", "..", ""));
}

TEST_CASE("git takes https, ssh and local paths") {
    for (const char* url : {"https://h/r", "ssh://git@h/r", "git@h:o/r.git"}) {
        CAPTURE(url);
        CHECK(seed_at(with_image(std::string("files: {a: {fromGit: \"") + url + "\"}}\n"), "a").content == url);
    }
    CHECK(seed_at(with_image("files: {a: {fromGit: ./r}}\n"), "a").content == "/project/r");
    for (const char* url : {"http://h/r", "git://h/r", "file:///r", "ext::sh -c x", "--upload-pack=x", ""}) {
        CAPTURE(url);
        refused(std::string("files: {a: {fromGit: \"") + url + "\"}}\n");
    }
    refused("files: {a: {fromGit: 'https://h/r', ref: --x}}\n");
}

TEST_CASE("limits have bounds") {
    CHECK(contains(refused("limits: {memory: 5MB}\n").hint(), "6MiB"));
    CHECK(contains(refused("limits: {timeout: 30}\n").hint(), "\"30s\""));
    for (const char* limit : {"cpus: 0", "cpus: 0.009", "cpus: 1e-10", "cpus: -1", "cpus: 513", "cpus: nan", "cpus: inf", "cpus: x", "pids: 0", "pids: 1.5",
                              "pids: -1", "pids: 99999999999", "memory: lots", "maxOutput: -1", "maxFile: ''",
                              "maxProcesses: x"}) {
        CAPTURE(limit);
        refused(std::string("limits: {") + limit + "}\n");
    }
    CHECK(with_image("limits: {maxFile: 0}\n").limits.max_file == 0);
}

TEST_CASE("every session ends, and no time-out is longer than its life") {
    CHECK(contains(refused("lifecycle: {ttl: 0}\n").message(), "before it starts"));
    refused("lifecycle: {ttl: 366d}\n");
    refused("lifecycle: {ttl: -1s}\n");
    CHECK(with_image("lifecycle: {ttl: 365d, idleTimeout: 0}\n").lifecycle.idle_timeout.count() == 0);
    CHECK(contains(refused("limits: {timeout: 2h}\n").message(), "m.yaml:2:19: limits.timeout: the time-out of 2h"));
    CHECK(with_image("limits: {timeout: 2h}\nlifecycle: {ttl: 2h}\n").limits.timeout == std::chrono::hours(2));
}

TEST_CASE("the network is none unless bridge is asked for") {
    CHECK(with_image("network: false\n").network == NetworkMode::none);
    CHECK(with_image("network: bridge\npublish: [80, 81/tcp]\n").publish == std::vector<std::uint16_t>{80, 81});
    CHECK(contains(refused("network: host\n").hint(), "none, bridge"));
    CHECK(contains(refused("network: brigde\n").message(), "did you mean \"bridge\"?"));
    CHECK(contains(refused("publish: [80]\n").hint(), "network: bridge"));
    CHECK(contains(refused("network: bridge\npublish: ['8080:80']\n").hint(), "engine chooses"));
    for (const char* port : {"0", "65536", "-1", "http", "80/udp", "80, 80"}) {
        CAPTURE(port);
        refused(std::string("network: bridge\npublish: [") + port + "]\n");
    }
}

TEST_CASE("mounts do not hide each other") {
    CHECK(with_image("tmpfs: {/tmp/: 1MB}\n").tmpfs.count("/tmp") == 1);
    CHECK(with_image("workdir: /srv/app/\n").workdir == "/srv/app");
    for (const char* text : {"workdir: app", "workdir: /", "workdir: /a/../b", "workdir: /proc/x", "workdir: /.sandbox",
                             "tmpfs: {tmp: 1MB}", "tmpfs: {/: 1MB}", "tmpfs: {/tmp: 0}", "tmpfs: {/workspace: 1MB}",
                             "workdir: /a/b\ntmpfs: {/a: 1MB}", "tmpfs: {/.sandbox: 1MB}", "tmpfs: {/tmp: }",
                             "tmpfs: [/tmp]", "tmpfs: {/a: 1MB, /a/: 2MB}"}) {
        CAPTURE(text);
        refused(std::string(text) + "\n");
    }
}

TEST_CASE("capabilities are known ones") {
    CHECK(with_image("security: {dropCapabilities: []}\n").security.drop_capabilities.empty());
    CHECK(with_image("security: {addCapabilities: [cap_net_raw]}\n").security.add_capabilities.at(0) == "NET_RAW");
    CHECK(contains(refused("security: {addCapabilities: [KIL]}\n").message(), "did you mean \"KILL\"?"));
    refused("security: {dropCapabilities: ALL}\n");
}

TEST_CASE("names are checked") {
    CHECK(with_image("name: job-981\n").name == "job-981");
    for (const char* name : {"../x", "a/b", "A", "''", "-x", ".", "\xC3\xA9", "\"a\\nb\""}) {
        CAPTURE(name);
        refused(std::string("name: ") + name + "\n");
    }
    for (const char* user : {"a:b:c", "':x'", "'x:'", "'a b'", "''"}) {
        CAPTURE(user);
        refused(std::string("user: ") + user + "\n");
    }
}

TEST_CASE("checkpoint, export and policy are checked in kind") {
    refused("checkpoint: {retain: 0}\n");
    refused("checkpoint: {retain: many}\n");
    refused("checkpoint: {store: 'ftp://x'}\n");
    refused("checkpoint: {durable: maybe}\n");
    refused("checkpoint: 3\n");
    CHECK(contains(refused("checkpoint: {durable: true}\n").hint(), "checkpoint.store"));
    CHECK(contains(refused("checkpoint: {durable: true, store: 'dir:/x'}\n").message(), "not durable"));
    CHECK(with_image("checkpoint: {durable: true, store: 's3://b/p'}\n").extensions_json ==
          R"({"checkpoint":{"durable":true,"store":"s3://b/p"}})");
    CHECK(with_image("checkpoint: {retain: all}\n").extensions_json == R"({"checkpoint":{"retain":"all"}})");
    refused("export: {files: [a]}\n");
    refused("export: {files: {/a: b}}\n");
    refused("export: {optional: [../x]}\n");
    refused("policy: {exec: {maxTimeout: 5}}\n");
    refused("policy: {allow: exec_command}\n");
    CHECK(with_image("").extensions_json == "{}");
}

TEST_CASE("shown values are bounded and safe for a terminal") {
    const auto error = refused("user: \"" + std::string(5000, 'a') + " \\e[31m\"\n");
    CHECK(error.message().size() < 1000);
    CHECK_FALSE(contains(error.message(), "\x1b"));
}
