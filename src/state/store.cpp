// SPDX-License-Identifier: Apache-2.0
#include "state/store.hpp"

#include "state/opening.hpp"
#include "state/store_impl.hpp"
#include "util/text.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace sandbox::state {

namespace {

constexpr off_t k_reserve_size = 1 << 20; // journals and a few pages

bool give_up_reserve(const Layout& layout) { return ::unlink(layout.reserve().c_str()) == 0; }

void keep_reserve(const Layout& layout) {
    const Fd file(::open(layout.reserve().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    struct stat info {};
    // Less than all of it is there where whoever made it was killed.
    if (!file || ::fstat(file.get(), &info) != 0 || info.st_size >= k_reserve_size) return;
    if (::posix_fallocate(file.get(), 0, k_reserve_size) != 0) give_up_reserve(layout);
}

Opened open_for_writing(const Layout& layout, Reserve reserve) {
    try {
        return open_database(layout, migrations());
    } catch (const Error& error) {
        if (error.code() != ErrorCode::no_space || reserve == Reserve::keep || !give_up_reserve(layout)) throw;
    }
    return open_database(layout, migrations());
}

} // namespace

bool Store::free_reserve() const { return give_up_reserve(m_impl->layout); }

Store::Impl::Use Store::Impl::reading() {
    std::unique_lock lock(mutex);
    if (snapshot) {
        db = std::make_unique<Db>(layout.database(), Db::Access::read_only);
        snapshot.reset();
    }
    return {std::move(lock), *db};
}

Store::Impl::Use Store::Impl::writing() {
    std::unique_lock lock(mutex);
    if (is_read_only) {
        Opened opened = open_for_writing(layout, reserve);
        db = std::move(opened.db);
        identity = std::move(opened.identity);
        if (warning.empty()) warning = std::move(opened.warning);
        is_read_only = false;
        snapshot.reset();
    }
    return {std::move(lock), *db};
}

Store::Store(std::unique_ptr<Impl> impl) : m_impl(std::move(impl)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

Store Store::open(const std::string& directory, Reserve reserve) {
    auto impl = std::make_unique<Impl>();
    impl->reserve = reserve;
    impl->layout = Layout{directory};
    secure_state_directory(directory);
    make_directories(impl->layout.locks(), 0700);
    make_directories(impl->layout.sessions(), 0700);
    Opened opened = open_for_writing(impl->layout, reserve);
    keep_reserve(impl->layout);
    impl->identity = std::move(opened.identity);
    impl->warning = std::move(opened.warning);
    impl->db = std::move(opened.db);
    return Store(std::move(impl));
}

Store Store::open_for_lookup(const std::string& directory, Reserve reserve) {
    auto store = peek(directory);
    if (!store) return open(directory, reserve);
    store->m_impl->reserve = reserve;
    secure_state_directory(directory);
    return std::move(*store);
}

std::optional<Store> Store::peek(const std::string& directory) {
    auto impl = std::make_unique<Impl>();
    impl->layout = Layout{directory};
    Opened opened = open_database_for_lookup(impl->layout, migrations());
    if (!opened.db) return std::nullopt;
    impl->identity = std::move(opened.identity);
    impl->db = std::move(opened.db);
    impl->snapshot = std::move(opened.snapshot);
    impl->is_read_only = true;
    return Store(std::move(impl));
}

const std::string& Store::directory() const { return m_impl->layout.directory; }
const std::string& Store::warning() const { return m_impl->warning; }
const std::string& Store::instance() const { return m_impl->identity.instance; }
bool Store::is_on_its_machine() const { return m_impl->identity.machine == machine_id(); }

void Store::adopt_machine() {
    const auto use = m_impl->writing();
    const Identity adopted{m_impl->identity.instance, machine_id()};
    write_identity(m_impl->layout.identity(), adopted);
    m_impl->identity.machine = adopted.machine;
}

void Store::adopt_instance(const std::string& instance) {
    if (!is_instance_id(instance)) throw Error(ErrorCode::usage, quoted(instance) + " is no instance's id").hint("16 hex digits, as in the label sandbox.instance");
    if (!list({}).empty() || !list_workspaces(std::nullopt).empty()) {
        throw Error(ErrorCode::conflict, "the state in " + directory() + " has sessions or workspaces of its own, as instance " + this->instance())
            .hint("take that instance over into a new --state-dir");
    }
    const auto use = m_impl->writing();
    const Identity adopted{instance, machine_id()};
    write_identity(m_impl->layout.identity(), adopted);
    use.db.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES ('instance', ?)").bind(instance).run();
    m_impl->identity = adopted;
}

std::string Store::session_directory(std::string_view id) const {
    check_id_is_file_name(id);
    return m_impl->layout.session(id);
}

} // namespace sandbox::state
