// SPDX-License-Identifier: Apache-2.0
#include "util/tree_relay.hpp"

namespace sandbox {

void TreeRelay::on_record(const TreeRecord& record) {
    m_out.record(record);
    m_sparse = record.sparse;
    m_size = record.size;
    if (record.type != TreeType::directory) ++m_counts.files;
}

void TreeRelay::on_data(std::uint64_t offset, std::string_view bytes) {
    if (m_sparse) m_out.extent(offset, bytes.size());
    m_out.bytes(bytes);
    m_counts.bytes += bytes.size();
}

void TreeRelay::on_file_end() {
    if (m_sparse) m_out.extent(m_size, 0);
}

} // namespace sandbox
