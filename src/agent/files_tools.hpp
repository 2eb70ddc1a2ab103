// SPDX-License-Identifier: Apache-2.0
// The operations on single files, one for each kind of request (files_request.hpp). Paths are those of a copy: files_location.hpp.
// Split by topic: files_list.cpp, files_read.cpp, files_write.cpp, files_remove.cpp.
//
//   serve_files(connection, context);
#pragma once

#include "agent/files_request.hpp"
#include "agent/worker.hpp"

namespace sandbox::agent {

// Reads the request and serves it. Throws Error, WireError, ClientGone.
void serve_files(WorkerConnection& connection, const SessionContext& context);

void serve(WorkerConnection& connection, const SessionContext& context, const ListFilesRequest& request);
void serve(WorkerConnection& connection, const SessionContext& context, const ReadFileRequest& request);
void serve(WorkerConnection& connection, const SessionContext& context, const WriteFileRequest& request);
void serve(WorkerConnection& connection, const SessionContext& context, const MakeDirectoryRequest& request);
void serve(WorkerConnection& connection, const SessionContext& context, const RemoveRequest& request);

} // namespace sandbox::agent
