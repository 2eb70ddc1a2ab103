// SPDX-License-Identifier: Apache-2.0
#include "app/images.hpp"

#include "engine/image_reference.hpp"
#include "util/error.hpp"
#include "util/fs.hpp"
#include "util/process.hpp"
#include "util/text.hpp"

#include <algorithm>
#include <array>
#include <elf.h>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace sandbox::app {
namespace {

namespace fs = std::filesystem;

// PATH for images that come with none of their own.
const std::vector<std::string> k_image_changes{
    "ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"};

// Only a program without an interpreter runs in a root that holds nothing else.
bool is_static_program(const std::string& path) {
    const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    Elf64_Ehdr header{};
    if (!file || ::pread(file.get(), &header, sizeof header, 0) != ssize_t{sizeof header}) return false;
    for (unsigned i = 0; i < header.e_phnum; ++i) {
        Elf64_Phdr segment{};
        const auto offset = static_cast<off_t>(header.e_phoff + i * sizeof segment);
        if (::pread(file.get(), &segment, sizeof segment, offset) != ssize_t{sizeof segment}) return false;
        if (segment.p_type == PT_INTERP) return false;
    }
    return true;
}

std::string find_static_busybox() {
    for (const char* path : {"/bin/busybox", "/usr/bin/busybox", "/usr/local/bin/busybox"}) {
        if (is_static_program(path)) return path;
    }
    throw Error(ErrorCode::failed, "no statically linked busybox on this system")
        .hint("apt-get install busybox-static, or make an image with sandbox image import");
}

void write_text(const fs::path& path, std::string_view text) {
    AtomicFile file(AT_FDCWD, path.string(), 0644);
    write_all(file.fd(), text);
    file.publish();
}

// Whatever the caller's umask.
void make_directory(const fs::path& path, mode_t mode) {
    fs::create_directory(path);
    if (::chmod(path.c_str(), mode) != 0) throw errno_error("cannot set the mode of " + path.string());
}

void link_applets(const std::string& busybox, const fs::path& bin) {
    const auto listed = run_capture({busybox, "--list"}, "");
    for (const auto& applet : split(listed.out, '\n')) {
        // "busybox" is an applet too; its link would replace the program by a link to itself.
        if (!applet.empty() && applet != "busybox") fs::create_symlink("busybox", bin / applet);
    }
}

void lay_out_busybox(const std::string& root) {
    const std::string busybox = find_static_busybox();
    const fs::path base(root);
    // The root itself too: a storage driver may take its mode from the archive.
    for (const char* directory : {"", "bin", "etc", "root", "home", "usr", "usr/bin", "var", "proc", "sys", "dev"}) {
        make_directory(base / directory, 0755);
    }
    for (const char* directory : {"tmp", "var/tmp"}) make_directory(base / directory, 01777);
    fs::copy_file(busybox, base / "bin/busybox");
    fs::permissions(base / "bin/busybox", fs::perms(0755));
    link_applets(busybox, base / "bin");
    write_text(base / "etc/passwd", "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n");
    write_text(base / "etc/group", "root:x:0:\nnogroup:x:65534:\n");
    fs::create_symlink("/bin/env", base / "usr/bin/env");
}

// Archives without a member: no bytes at all, an end mark alone (Go, busybox), and one that fills a record (GNU tar).
constexpr std::array<std::string_view, 3> k_layers_of_nothing{
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "sha256:5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef",
    "sha256:84ff92691f909a05b224e1c56abb4864f01b4f8e3c854e4bb4c7baf1d3f6d652"};

// Podman's size of an image is never zero.
bool holds_nothing(const engine::ImageInfo& image) {
    return image.size == 0 || std::ranges::all_of(image.layers, [](const std::string& layer) { return std::ranges::count(k_layers_of_nothing, layer) > 0; });
}

// The name comes last: an image of nothing, or one that was cut short, takes it from no good one.
std::string name_image(engine::Client& engine, const std::string& id, const std::string& tag) {
    const auto image = engine.inspect_image(id);
    if (!image || holds_nothing(*image)) {
        engine.remove_image(id);
        throw Error(ErrorCode::failed, "the archive holds no file; " + printable(tag) + " is as it was");
    }
    engine.tag_image(id, tag);
    return id;
}

// Runs a program whose standard output is an archive, straight into the engine.
std::string import_output_of(Context& context, const std::vector<std::string>& argv, const std::string& tag) {
    engine::parse_image_reference(tag); // refused before anything is made
    Child child({.argv = argv, .in = Stdio::null(), .out = Stdio::pipe(), .group = ProcessGroup::shared});
    std::optional<Error> failure;
    std::string id;
    try {
        id = context.engine().import_image(child.out().get(), k_image_changes);
    } catch (const Error& error) {
        failure = error;
    }
    child.out().reset(); // a program that still writes gets SIGPIPE
    const ExitStatus status = child.wait();
    if (failure) throw *failure;
    if (!status.success()) {
        context.engine().remove_image(id);
        throw Error(ErrorCode::failed,
                    argv.front() + " failed with status " + std::to_string(status.shell_status()));
    }
    return name_image(context.engine(), id, tag);
}

} // namespace

std::string import_image(Context& context, const std::string& file, const std::string& tag) {
    engine::parse_image_reference(tag); // refused before anything is made
    auto& engine = context.engine();
    if (file == "-") return name_image(engine, engine.import_image(STDIN_FILENO, k_image_changes), tag);
    const Fd archive(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (!archive) throw errno_error(printable(file));
    struct stat info {};
    if (::fstat(archive.get(), &info) == 0 && S_ISDIR(info.st_mode)) {
        throw Error(ErrorCode::usage, printable(file) + " is a directory")
            .hint("tar -C " + printable(file) + " -c . | sandbox image import - --tag NAME");
    }
    return name_image(engine, engine.import_image(archive.get(), k_image_changes), tag);
}

std::string bootstrap_busybox(Context& context, const std::string& tag) {
    const TempDir root;
    lay_out_busybox(root.path());
    return import_output_of(context,
                            {"tar", "--create", "--directory=" + root.path(), "--owner=0", "--group=0",
                             "--numeric-owner", "--sort=name", "."},
                            tag);
}

std::string bootstrap_debian(Context& context, const std::string& tag, const std::string& suite,
                             const std::vector<std::string>& packages) {
    std::vector<std::string> argv{"mmdebstrap", "--variant=minbase", "--quiet", "--format=tar"};
    for (const char* left_out : {"/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*", "/usr/share/info/*"}) {
        argv.push_back(std::string("--dpkgopt=path-exclude=") + left_out);
    }
    if (!packages.empty()) argv.push_back("--include=" + join(packages, ","));
    argv.push_back(suite);
    argv.push_back("-");
    return import_output_of(context, argv, tag);
}

} // namespace sandbox::app
