// SPDX-License-Identifier: Apache-2.0
#include "util/tree_reroot.hpp"

#include "util/error.hpp"
#include "util/text.hpp"

namespace sandbox {

std::string TreeReroot::below(const std::string& path) const {
    if (path.starts_with(m_prefix) && !path.empty()) return path.substr(m_prefix.size());
    throw Error(ErrorCode::protocol_error, "the archive holds " + quoted(path) + ", which is not in " + quoted(m_prefix));
}

void TreeReroot::on_record(const TreeRecord& record) {
    TreeRecord moved = record;
    if (has_root()) {
        moved.path = below(record.path);
        if (record.type == TreeType::hard_link) moved.link = below(record.link);
    } else {
        if (record.path.find('/') != std::string::npos || record.type == TreeType::hard_link) {
            throw Error(ErrorCode::protocol_error, "the archive does not start with its root");
        }
        m_has_root = true;
        if (!record.path.empty()) m_prefix = record.path + '/';
        moved.path.clear();
    }
    m_out.on_record(moved);
}

} // namespace sandbox
