// SPDX-License-Identifier: Apache-2.0
// A container that is made and never started, so that files can be put into a volume through the archive API.
//
//   const HelperContainer helper(context, engine, image, volume, "/target");
//   engine.put_archive(helper.id(), "/target", tar);
#pragma once

#include "app/context.hpp"

#include <string>

namespace sandbox::app {

class HelperContainer {
  public:
    // Mounts `volume` at `target`. `session` labels it, so that the session's own clean-up finds it after a crash. With a `name`
    // of the caller's the engine lets only one be there at a time: throws exists.
    HelperContainer(Context& context, engine::Client& engine, const std::string& image, const std::string& volume,
                    const std::string& target, const std::string& session = {}, const std::string& name = {});
    HelperContainer(const HelperContainer&) = delete;
    HelperContainer& operator=(const HelperContainer&) = delete;
    ~HelperContainer();
    const std::string& id() const { return m_id; }

  private:
    engine::Client& m_engine;
    std::string m_id;
};

} // namespace sandbox::app
