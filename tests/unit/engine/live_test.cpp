// SPDX-License-Identifier: Apache-2.0
// The whole client against a real engine: the one that DOCKER_HOST names, or the local one. Its own objects carry a
// random label and are removed at the end.
#include "engine/client.hpp"

#include "throws.hpp"
#include "util/fd.hpp"
#include "util/fs.hpp"
#include "util/random.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace sandbox;
using namespace sandbox::engine;

namespace {

using std::chrono::milliseconds;

// A file in memory, read from its start.
Fd memory_file(std::string_view content) {
    Fd file(::memfd_create("archive", MFD_CLOEXEC));
    REQUIRE(file);
    write_all(file.get(), content);
    REQUIRE(::lseek(file.get(), 0, SEEK_SET) == 0);
    return file;
}

std::string busybox_tree() {
    const auto program = read_file("/bin/busybox");
    REQUIRE_MESSAGE(program, "the tests need /bin/busybox (package busybox-static)");
    // Each archive ends with two blocks of zeros, where a reader stops: without them the two are one.
    std::string directory = tar_of("bin", "", 0755, 0, 0, true);
    directory.resize(directory.size() - 1024);
    return directory + tar_of("bin/busybox", *program, 0755, 0, 0);
}

class Bench {
  public:
    Bench() : m_mark(random_hex(6)), m_image("sandbox-engine-test:" + m_mark) {
        const Fd archive = memory_file(busybox_tree());
        client.tag_image(client.import_image(archive.get(), {"ENV A=b", "VOLUME /data"}), m_image);
    }
    ~Bench() {
        Filter filter;
        filter.labels = labels();
        for (const auto& container : client.list_containers(filter)) client.remove_container(container.id);
        for (const auto& volume : client.list_volumes(filter)) client.remove_volume(volume.name);
        client.remove_image(m_image);
    }
    Labels labels() const { return {{"sandbox.test", m_mark}}; }
    const std::string& image() const { return m_image; }
    std::string name(std::string_view part) const { return "sandbox-test-" + m_mark + "-" + std::string(part); }

    ContainerSpec spec(std::string_view part) const {
        ContainerSpec spec;
        spec.name = name(part);
        spec.image = m_image;
        spec.entrypoint = {"/bin/busybox", "sleep", "600"};
        spec.labels = labels();
        spec.memory = 64 << 20;
        spec.pids = 64;
        spec.cpus = 0.5;
        spec.cap_drop = {"ALL"};
        spec.security_opt = {"no-new-privileges"};
        return spec;
    }
    std::string run(const std::string& container, std::vector<std::string> argv, std::string_view input, int& status) {
        argv.insert(argv.begin(), "/bin/busybox");
        const auto exec = client.exec(container, {.argv = std::move(argv), .attach_stdin = true});
        exec.stream->write(input);
        exec.stream->shutdown_write();
        std::string output;
        char bytes[65536];
        while (const std::size_t count = exec.stream->read(bytes)) output.append(bytes, count);
        status = client.exec_exit_code(exec.id);
        return output;
    }

    Client client{Endpoint::resolve({})};

  private:
    std::string m_mark;
    std::string m_image;
};

} // namespace

TEST_CASE("the engine says who it is") {
    Client client(Endpoint::resolve({}));
    const EngineInfo info = client.info();
    CHECK(info.id == client.id());
    CHECK_FALSE(info.version.empty());
    CHECK_FALSE(info.api_version.empty());
    CHECK_FALSE(info.architecture.empty());
}

TEST_CASE("a container's whole life") {
    Bench bench;
    auto spec = bench.spec("life");
    spec.readonly_rootfs = true;
    spec.mounts = {{.target = "/workspace", .volume_labels = bench.labels()},
                   {.kind = Mount::Kind::tmpfs, .target = "/tmp", .tmpfs_size = 1 << 20}};
    const std::string id = bench.client.create_container(spec);
    CHECK(error_of([&] { bench.client.create_container(spec); }).code() == ErrorCode::exists);
    CHECK(bench.client.inspect_container(id)->status == "created");
    bench.client.start_container(id);
    bench.client.start_container(id);
    const auto info = bench.client.inspect_container(spec.name);
    REQUIRE(info);
    CHECK(info->id == id);
    CHECK(info->running);
    CHECK(info->labels.at("sandbox.test") == bench.labels().at("sandbox.test"));
    CHECK_FALSE(bench.client.inspect_container(id.substr(0, 12)));

    int status = -1;
    CHECK(bench.run(id, {"wc", "-c"}, "abc", status) == "3\n");
    CHECK(status == 0);
    CHECK(bench.run(id, {"cat"}, "", status).empty());
    CHECK(bench.run(id, {"sh", "-c", "echo out; echo err >&2; exit 7"}, "", status) == "out\n");
    CHECK(status == 7);
    CHECK(bench.run(id, {"sh", "-c", "echo '#!/bin/busybox true' >/tmp/x && chmod +x /tmp/x && /tmp/x && echo ran"}, "", status) == "ran\n");
    const std::string big(6 << 20, 'z');
    CHECK(bench.run(id, {"cat"}, big, status) == big);

    Filter filter;
    filter.labels = bench.labels();
    const auto list = bench.client.list_containers(filter);
    REQUIRE(list.size() == 1);
    CHECK(list[0].id == id);
    CHECK(list[0].name == spec.name);
    CHECK(bench.client.list_volumes(filter).size() == 1);
    CHECK(bench.client.remove_container(id));
    CHECK_FALSE(bench.client.remove_container(id));
    CHECK_FALSE(bench.client.inspect_container(id));
    CHECK_MESSAGE(bench.client.list_volumes(filter).empty(), "an anonymous volume stayed behind");
}

TEST_CASE("archives go in and come out, and missing things are told apart") {
    Bench bench;
    const std::string id = bench.client.create_container(bench.spec("archive"));
    bench.client.put_archive(id, "/", tar_of("file", "content", 0640, 1000, 4000000000U));
    std::string tar;
    const auto sink = [&](std::string_view bytes) { tar += bytes; };
    REQUIRE(bench.client.get_archive(id, "/file", sink));
    CHECK(mentions(tar, "content"));
    CHECK(mentions(tar, "gid=4000000000")); // Go's writer puts a number of this size into a pax header
    CHECK_FALSE(bench.client.get_archive(id, "/none", sink));
    CHECK(error_of([&] { bench.client.get_archive(bench.name("none"), "/file", sink); }).code() == ErrorCode::not_found);
    CHECK(error_of([&] { bench.client.put_archive(id, "/none", tar_of("f", "", 0644, 0, 0)); }).code() == ErrorCode::not_found);
}

TEST_CASE("AutoRemove takes the container and its anonymous volume") {
    Bench bench;
    auto spec = bench.spec("auto");
    spec.auto_remove = true;
    spec.mounts = {{.target = "/workspace", .volume_labels = bench.labels()}};
    const std::string id = bench.client.create_container(spec);
    bench.client.start_container(id);
    bench.client.kill_container(id, "KILL");
    CHECK(bench.client.wait_container_gone(id, milliseconds(10000)));
    Filter filter;
    filter.labels = bench.labels();
    CHECK(bench.client.list_volumes(filter).empty());
}

TEST_CASE("stop, and removal of what is paused, stopped or being removed") {
    Bench bench;
    const std::string id = bench.client.create_container(bench.spec("stop"));
    bench.client.start_container(id);
    bench.client.stop_container(id, std::chrono::seconds(0));
    bench.client.stop_container(id, std::chrono::seconds(0));
    CHECK_FALSE(bench.client.inspect_container(id)->running);
    CHECK(error_of([&] { bench.client.exec(id, {.argv = {"true"}}); }).code() == ErrorCode::conflict);
    CHECK(bench.client.remove_container(id));
}

TEST_CASE("volumes: made once, found, held, removed") {
    Bench bench;
    const std::string name = bench.name("volume");
    CHECK_FALSE(bench.client.inspect_volume(name));
    bench.client.create_volume(name, bench.labels());
    bench.client.create_volume(name, bench.labels());
    CHECK(error_of([&] { bench.client.create_volume(name, {{"other", "x"}}); }).code() == ErrorCode::exists);
    CHECK(bench.client.inspect_volume(name)->labels == bench.labels());
    auto spec = bench.spec("holder");
    spec.mounts = {{.source = name, .target = "/workspace"}};
    const std::string id = bench.client.create_container(spec);
    const Error held = error_of([&] { bench.client.remove_volume(name, milliseconds(50)); });
    CHECK(held.code() == ErrorCode::conflict);
    CHECK(mentions(held.message(), spec.name));
    Filter filter;
    filter.volume = name;
    CHECK(bench.client.list_containers(filter).size() == 1);
    bench.client.remove_container(id);
    CHECK(bench.client.remove_volume(name));
    CHECK_FALSE(bench.client.remove_volume(name));
}

TEST_CASE("images: what was imported is found, what is missing is told") {
    Bench bench;
    const auto image = bench.client.inspect_image(bench.image());
    REQUIRE(image);
    CHECK(image->volumes == std::vector<std::string>{"/data"});
    CHECK_FALSE(bench.client.inspect_image("sandbox-none/none:1"));
    auto spec = bench.spec("none");
    spec.image = "sandbox-none:1";
    const Error missing = error_of([&] { bench.client.create_container(spec); });
    CHECK(missing.code() == ErrorCode::image_not_found);
    CHECK_FALSE(missing.hint().empty());
    const Fd garbage = memory_file("this is no archive");
    CHECK(error_of([&] { bench.client.import_image(garbage.get(), {}); }).code() == ErrorCode::engine_error);
}

TEST_CASE("a bind source that is missing is an error, and limits of the engine's objects hold") {
    Bench bench;
    auto spec = bench.spec("bind");
    spec.mounts = {{.kind = Mount::Kind::bind, .source = "/nonexistent/sandbox", .target = "/x"}};
    CHECK(error_of([&] { bench.client.create_container(spec); }).code() == ErrorCode::not_found);
    CHECK_FALSE(bench.client.inspect_container(spec.name));
    CHECK(error_of([&] { bench.client.start_container(bench.name("none")); }).code() == ErrorCode::not_found);
}
