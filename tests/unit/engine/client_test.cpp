// SPDX-License-Identifier: Apache-2.0
#include "engine/client.hpp"

#include "scripted_server.hpp"
#include "throws.hpp"
#include "util/fd.hpp"

#include <chrono>
#include <doctest/doctest.h>

using namespace sandbox;
using namespace sandbox::engine;

namespace {

using std::chrono::milliseconds;

constexpr Timeouts k_quick{milliseconds(500), milliseconds(150), milliseconds(150)};

std::string chunked(std::string_view head, std::string_view body, std::size_t chunk) {
    std::string text = std::string(head) + "Transfer-Encoding: chunked\r\n\r\n";
    for (std::size_t at = 0; at < body.size(); at += chunk) {
        const auto part = body.substr(at, chunk);
        char size[20];
        std::snprintf(size, sizeof size, "%zx\r\n", part.size());
        text += size + std::string(part) + "\r\n";
    }
    return text + "0\r\n\r\n";
}

std::string read_to_end(Stream& stream) {
    std::string content;
    char bytes[1000];
    while (const std::size_t count = stream.read(bytes)) content.append(bytes, count);
    return content;
}

const Answer k_gone = json_answer(404, R"({"message":"No such container: web"})");
const Answer k_there = json_answer(200, R"({"Id":"abc","Name":"/web","State":{"Status":"running","Running":true}})");
const Answer k_exec_made = json_answer(201, R"({"Id":"e1"})");
const std::string k_stdout_frame("\001\000\000\000\000\000\000\005hello", 13);

} // namespace

TEST_CASE("the version is asked once, by the cheap call, and used in every path") {
    ScriptedServer server({ping_answer("1.41"), k_there, k_there});
    Client client(server.endpoint(), k_quick);
    client.inspect_container("web");
    client.inspect_container("web");
    const auto requests = server.requests();
    CHECK(requests.at(0).starts_with("GET /_ping HTTP/1.1\r\n"));
    CHECK(requests.at(1).starts_with("GET /v1.41/containers/web/json HTTP/1.1\r\n"));
    CHECK(requests.size() == 3);
    CHECK(server.connections() == 1);
}

TEST_CASE("an engine newer than we are is asked for its oldest version") {
    ScriptedServer server({ping_answer("1.52"), json_answer(200, R"({"ApiVersion":"1.52","MinAPIVersion":"1.44"})"), k_there});
    Client client(server.endpoint(), k_quick);
    client.inspect_container("web");
    CHECK(server.requests().at(2).starts_with("GET /v1.47/"));
}

TEST_CASE("an engine of another age is an error that shows both ranges") {
    ScriptedServer server({ping_answer("1.20"), json_answer(200, R"({"ApiVersion":"1.20","MinAPIVersion":"1.12"})")});
    Client client(server.endpoint(), k_quick);
    const Error error = error_of([&] { client.inspect_container("web"); });
    CHECK(error.code() == ErrorCode::engine_error);
    CHECK(mentions(error.message(), "1.12 to 1.20"));
}

TEST_CASE("law 3: an engine that does not answer is unreachable, never without the container") {
    for (const Answer& fault : {Answer{.mute = true}, Answer{.text = "HTTP/1.1 404 Not F", .mute = true},
                                Answer{.text = "HTTP/1.1 404 Not Found\r\nContent-Length: 99\r\n\r\n{\"mess", .mute = true},
                                Answer{.text = "HTTP/1.1 404 Not Found\r\nContent-Length: 99\r\n\r\n{\"mess", .close = true},
                                Answer{.text = "HTTP/1.1 404", .close = true}}) {
        CAPTURE(fault.text);
        ScriptedServer server({ping_answer(), fault});
        Client client(server.endpoint(), k_quick);
        const Error error = error_of([&] { client.inspect_container("web"); });
        CHECK(error.code() == ErrorCode::engine_unreachable);
        CHECK(mentions(error.message(), server.endpoint().url));
    }
}

TEST_CASE("law 3: a 404 of something else is no absence") {
    for (const Answer& answer : {json_answer(404, R"({"message":"page not found"})"), json_answer(404, "404 page not found")}) {
        ScriptedServer server({ping_answer(), answer});
        Client client(server.endpoint(), k_quick);
        CHECK(error_of([&] { client.inspect_container("web"); }).code() == ErrorCode::engine_error);
    }
    ScriptedServer server({ping_answer(), k_gone});
    Client client(server.endpoint(), k_quick);
    CHECK_FALSE(client.inspect_container("web"));
}

TEST_CASE("law 5: a container found by a prefix of its id is another one") {
    const Answer other = json_answer(200, R"({"Id":"abcdef","Name":"/other"})");
    ScriptedServer server({ping_answer(), other, other});
    Client client(server.endpoint(), k_quick);
    CHECK_FALSE(client.inspect_container("abc"));
    CHECK_FALSE(client.remove_container("abc"));
    for (const auto& request : server.requests()) CHECK_FALSE(request.starts_with("DELETE"));
    CHECK(error_of([&] { client.remove_container(""); }).code() == ErrorCode::internal);
}

TEST_CASE("a kept connection that was closed meanwhile is replaced") {
    Answer closing = k_there;
    closing.close = true;
    ScriptedServer server({ping_answer(), closing, k_there});
    Client client(server.endpoint(), k_quick);
    client.inspect_container("web");
    CHECK(client.inspect_container("web"));
    CHECK(server.connections() == 2);
}

TEST_CASE("only a GET on a kept connection is sent a second time") {
    {
        ScriptedServer server({ping_answer(), {.close_at_once = true}, k_there});
        Client client(server.endpoint(), k_quick);
        CHECK(client.inspect_container("web"));
        CHECK(server.requests().size() == 3);
    }
    ScriptedServer server({ping_answer(), {.close_at_once = true}, json_answer(201, R"({"Id":"x"})")});
    Client client(server.endpoint(), k_quick);
    CHECK(error_of([&] { client.create_container({}); }).code() == ErrorCode::engine_unreachable);
    CHECK(server.requests().size() == 2);
}

TEST_CASE("an answer that comes a byte at a time is the same answer") {
    Answer slow = k_there;
    slow.piece = 1;
    ScriptedServer server({ping_answer(), slow});
    Client client(server.endpoint(), k_quick);
    CHECK(client.inspect_container("web")->id == "abc");
}

TEST_CASE("create keeps the engine's warnings and tells a taken name from a missing image") {
    ScriptedServer server({ping_answer(), json_answer(201, R"({"Id":"abc","Warnings":["no swap"]})"),
                           json_answer(409, R"({"message":"Conflict. The container name \"/web\" is already in use by container \"x\""})"),
                           json_answer(404, R"({"message":"No such image: nosuch:latest"})")});
    Client client(server.endpoint(), k_quick);
    ContainerSpec spec;
    spec.name = "web";
    CHECK(client.create_container(spec) == "abc");
    CHECK(client.last_warnings() == std::vector<std::string>{"no swap"});
    CHECK(error_of([&] { client.create_container(spec); }).code() == ErrorCode::exists);
    CHECK(error_of([&] { client.create_container(spec); }).code() == ErrorCode::image_not_found);
    CHECK(server.requests().at(1).starts_with("POST /v1.41/containers/create?name=web HTTP/1.1\r\n"));
}

TEST_CASE("remove takes the volumes along, waits out a removal in progress, and looks whether it is gone") {
    const Answer in_progress = json_answer(409, R"({"message":"removal of container web is already in progress"})");
    ScriptedServer server({ping_answer(), in_progress, k_there, k_there, k_gone});
    Client client(server.endpoint(), k_quick);
    CHECK(client.remove_container("web"));
    CHECK(server.requests().at(1).starts_with("DELETE /v1.41/containers/web?force=1&v=1 "));
    CHECK(server.requests().size() == 5);
}

TEST_CASE("remove of what is not there is false, of what stays cleanup_failed") {
    ScriptedServer absent({ping_answer(), k_gone});
    Client first(absent.endpoint(), k_quick);
    CHECK_FALSE(first.remove_container("web"));

    const Answer busy = json_answer(500, R"({"message":"device or resource busy"})");
    ScriptedServer stuck({ping_answer(), busy, busy, busy, busy, busy, busy, busy, busy, busy, busy});
    Client second(stuck.endpoint(), k_quick);
    const Error error = error_of([&] { second.remove_container("web", milliseconds(30)); });
    CHECK(error.code() == ErrorCode::cleanup_failed);
    CHECK(mentions(error.message(), "device or resource busy"));
}

TEST_CASE("law 10: a removal during which the engine goes away is not done") {
    ScriptedServer server({ping_answer(), json_answer(204, ""), {.mute = true}});
    Client client(server.endpoint(), k_quick);
    CHECK(error_of([&] { client.remove_container("web"); }).code() == ErrorCode::engine_unreachable);
}

TEST_CASE("a volume in use is tried again, then its holders are named") {
    const Answer in_use = json_answer(409, R"({"message":"remove v: volume is in use - [abc]"})");
    ScriptedServer freed({ping_answer(), in_use, in_use, {.text = "HTTP/1.1 204 No Content\r\n\r\n"}});
    Client first(freed.endpoint(), k_quick);
    CHECK(first.remove_volume("v"));

    const Answer holders = json_answer(200, R"([{"Id":"1","Names":["/holder"],"Mounts":[{"Type":"volume","Name":"v"}]},
                                                {"Id":"2","Names":["/not-it"],"Mounts":[{"Type":"volume","Name":"v2"}]}])");
    ScriptedServer held({ping_answer(), in_use, holders});
    Client second(held.endpoint(), k_quick);
    const Error error = error_of([&] { second.remove_volume("v", milliseconds(0)); });
    CHECK(error.code() == ErrorCode::conflict);
    CHECK(error.message() == "cannot remove volume v: in use by holder");

    ScriptedServer absent({ping_answer(), json_answer(404, R"({"message":"get v: no such volume"})")});
    Client third(absent.endpoint(), k_quick);
    CHECK_FALSE(third.remove_volume("v"));
}

TEST_CASE("a volume that was there with other labels is somebody else's") {
    ScriptedServer server({ping_answer(), json_answer(201, R"({"Name":"v","Labels":{"a":"1"}})"), json_answer(201, R"({"Name":"v","Labels":null})")});
    Client client(server.endpoint(), k_quick);
    client.create_volume("v", {{"a", "1"}});
    CHECK(error_of([&] { client.create_volume("v", {{"a", "1"}}); }).code() == ErrorCode::exists);
}

TEST_CASE("a network is found, or made, or found on the second look; one with other options is a conflict") {
    const Answer missing = json_answer(404, R"({"message":"network n not found"})");
    const Answer taken = json_answer(409, R"({"message":"network with name n already exists"})");
    const Answer found = json_answer(200, R"({"Id":"n1","Name":"n","Options":{"icc":"false"}})");
    ScriptedServer server({ping_answer(), missing, taken, found, found});
    Client client(server.endpoint(), k_quick);
    CHECK(client.ensure_network("n", {{"icc", "false"}}, {}) == "n1");
    CHECK(error_of([&] { client.ensure_network("n", {{"icc", "true"}}, {}); }).code() == ErrorCode::conflict);
}

TEST_CASE("a pull's error inside the 200 is an error, its progress is safe to print") {
    const std::string head = "HTTP/1.1 200 OK\r\n";
    const std::string start = "{\"status\":\"Pulling \\u001b[31m\",\"id\":\"x\"}\r\n{\"status\":\"Pulling \\u001b[31m\",\"id\":\"x\"}\r\n";
    for (const std::size_t chunk : {1, 7, 1000}) {
        CAPTURE(chunk);
        const std::string failed = start + R"({"errorDetail":{"message":"manifest unknown"},"error":"manifest unknown"})";
        ScriptedServer server({ping_answer(), {.text = chunked(head, start, chunk)}, {.text = chunked(head, failed, chunk)}});
        Client client(server.endpoint(), k_quick);
        std::vector<std::string> lines;
        client.pull_image("ghcr.io/acme/app", [&](std::string_view line) { lines.emplace_back(line); });
        CHECK(lines == std::vector<std::string>{"x: Pulling \\x1b[31m"});
        const Error error = error_of([&] { client.pull_image("ghcr.io/acme/app", {}); });
        CHECK(error.code() == ErrorCode::image_not_found);
        CHECK(error.message() == "cannot pull image ghcr.io/acme/app: manifest unknown");
        CHECK(server.requests().at(1).starts_with("POST /v1.41/images/create?fromImage=ghcr.io%2Facme%2Fapp&tag=latest "));
    }
}

TEST_CASE("law 8: a pull that is cut is an error, at a chunk's end too") {
    const std::string whole = chunked("HTTP/1.1 200 OK\r\n", "{\"status\":\"Pulling\"}\r\n", 1000);
    for (const std::size_t left_off : {std::size_t{1}, std::size_t{5}, std::size_t{15}}) {
        CAPTURE(left_off);
        ScriptedServer server({ping_answer(), {.text = whole.substr(0, whole.size() - left_off), .close = true}});
        Client client(server.endpoint(), k_quick);
        CHECK(error_of([&] { client.pull_image("a", {}); }).code() == ErrorCode::engine_error);
    }
    ScriptedServer unframed({ping_answer(), {.text = "HTTP/1.1 200 OK\r\n\r\n{\"status\":\"Pulling\"}", .close = true}});
    Client client(unframed.endpoint(), k_quick);
    CHECK(error_of([&] { client.pull_image("a", {}); }).code() == ErrorCode::engine_error);
}

TEST_CASE("an import sends the archive in chunks and hears an early refusal") {
    Pipe pipe = make_pipe();
    write_all(pipe.write.get(), "tar bytes");
    pipe.write.reset();
    ScriptedServer server({ping_answer(), {.text = chunked("HTTP/1.1 200 OK\r\n", "{\"status\":\"" + std::string(64, 'a') + "\"}\n", 100)}});
    Client client(server.endpoint(), k_quick);
    CHECK(client.import_image(pipe.read.get(), {"USER 1000", "CMD [\"sh\"]"}) == "sha256:" + std::string(64, 'a'));
    const std::string request = server.requests().at(1);
    CHECK(mentions(request, "fromSrc=-&changes=USER%201000&changes=CMD%20%5B%22sh%22%5D"));
    CHECK(request.ends_with("\r\n\r\n9\r\ntar bytes\r\n0\r\n\r\n"));
}

TEST_CASE("law 8: an archive that is cut is a protocol error; a missing path is no archive") {
    const std::string head = "HTTP/1.1 200 OK\r\n";
    const std::string tar(3000, 't');
    const std::string whole = chunked(head, tar, 512);
    std::string got;
    const auto sink = [&](std::string_view bytes) { got += bytes; };
    ScriptedServer server({ping_answer(), {.text = whole, .piece = 100},
                           {.text = whole.substr(0, whole.size() / 2), .close = true},
                           {.text = whole.substr(0, whole.size() - 5), .close = true},
                           {.text = head + "\r\n" + tar, .close = true},
                           json_answer(404, R"({"message":"Could not find the file /x in container web"})"),
                           json_answer(404, R"({"message":"lstat /proc/1/root/x: no such file or directory"})"), k_gone});
    Client client(server.endpoint(), k_quick);
    CHECK(client.get_archive("web", "/x", sink));
    CHECK(got == tar);
    for (int i = 0; i < 3; ++i) {
        CHECK(error_of([&] { client.get_archive("web", "/x", sink); }).code() == ErrorCode::protocol_error);
    }
    CHECK_FALSE(client.get_archive("web", "/x", sink));
    CHECK_FALSE(client.get_archive("web", "/x", sink)); // Podman's words
    CHECK(error_of([&] { client.get_archive("web", "/x", sink); }).code() == ErrorCode::not_found);
}

TEST_CASE("an exec's stream takes 101 and 200, and the bytes that came with the header") {
    for (const char* status : {"101 UPGRADED", "200 OK"}) {
        for (const std::size_t piece : {0, 1}) {
            CAPTURE(status);
            CAPTURE(piece);
            const std::string head = "HTTP/1.1 " + std::string(status) + "\r\ncontent-type: application/vnd.docker.raw-stream\r\n\r\n";
            ScriptedServer server({ping_answer(), k_exec_made, {.text = head + k_stdout_frame, .piece = piece, .close = true}});
            Client client(server.endpoint(), k_quick);
            const auto exec = client.exec("web", {.argv = {"true"}});
            CHECK(exec.id == "e1");
            CHECK(read_to_end(*exec.stream) == "hello");
            CHECK(mentions(server.requests().at(2), "Upgrade: tcp\r\n"));
        }
    }
}

TEST_CASE("an exec's input is half-closed, and its output still comes") {
    ScriptedServer server({ping_answer(), k_exec_made, {.text = "HTTP/1.1 101 UPGRADED\r\n\r\n", .echo = true}});
    Client client(server.endpoint(), k_quick);
    const auto exec = client.exec("web", {.argv = {"cat"}, .attach_stdin = true});
    exec.stream->write(k_stdout_frame);
    exec.stream->shutdown_write();
    CHECK(read_to_end(*exec.stream) == "hello");
}

TEST_CASE("an exec that cannot start, or whose stream something swallows, is an error") {
    ScriptedServer server({ping_answer(), json_answer(409, R"({"message":"Container web is not running"})"), k_exec_made,
                           json_answer(400, R"({"message":"OCI runtime exec failed"})"), k_exec_made,
                           {.text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"}});
    Client client(server.endpoint(), k_quick);
    const auto code = [&] { return error_of([&] { client.exec("web", {.argv = {"x"}}); }).code(); };
    CHECK(code() == ErrorCode::conflict);
    CHECK(code() == ErrorCode::engine_error);
    CHECK(code() == ErrorCode::protocol_error);
}

TEST_CASE("law 8: a missing exit status is waited for and never 0") {
    const Answer running = json_answer(200, R"({"Running":true,"ExitCode":null})");
    const Answer null = json_answer(200, R"({"Running":false,"ExitCode":null})");
    ScriptedServer server({ping_answer(), running, null, json_answer(200, R"({"Running":false,"ExitCode":3})")});
    Client client(server.endpoint(), k_quick);
    CHECK(client.exec_exit_code("e1") == 3);
    ScriptedServer never({ping_answer(), null, null, null, null, null, null});
    Client waiting(never.endpoint(), k_quick);
    CHECK(error_of([&] { waiting.exec_exit_code("e1", milliseconds(20)); }).code() == ErrorCode::engine_error);
    ScriptedServer restarted({ping_answer(), json_answer(404, R"({"message":"No such exec instance"})")});
    Client lost(restarted.endpoint(), k_quick);
    CHECK(error_of([&] { lost.exec_exit_code("e1"); }).code() == ErrorCode::engine_error);
}

TEST_CASE("info is what the engine tells of itself") {
    ScriptedServer server({ping_answer("1.41"), json_answer(200, R"({"ID":"AB","ServerVersion":"20.10.24","Architecture":"aarch64"})")});
    Client client(server.endpoint(), k_quick);
    const EngineInfo info = client.info();
    CHECK(info.id == "AB");
    CHECK(info.api_version == "1.41");
    CHECK(info.version == "20.10.24");
    CHECK(info.architecture == "aarch64");
}
