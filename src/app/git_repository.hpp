// SPDX-License-Identifier: Apache-2.0
// What a repository on this machine is made of, as far as git would read it for a clone: a gitfile, a common directory, alternates and
// links may lead anywhere. gitrepository-layout(5) has the files.
//
//   for_each_place(git_directory_of("./repo"), [&](const std::string& real) { check(real); });
#pragma once

#include <functional>
#include <string>

namespace sandbox::app {

// The git directory of a working tree or a bare repository, real and absolute. No directory above `path` is looked at.
// Throws manifest_invalid where there is none.
std::string git_directory_of(const std::string& path);
// Calls `visit` with the real path of everything that git would open for `git_directory`, before anything in it is read; what it
// throws is thrown on. Throws Error for what cannot be read, and for too many or too deep alternates.
void for_each_place(const std::string& git_directory, const std::function<void(const std::string& real)>& visit);

} // namespace sandbox::app
