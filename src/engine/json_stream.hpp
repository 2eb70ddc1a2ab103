// SPDX-License-Identifier: Apache-2.0
// Cuts a stream of JSON objects, in pieces of any size, into the objects.
//
//   stream.feed(bytes, [&](std::string_view object) { ... });
//   stream.finish();
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace sandbox::engine {

class JsonStream {
  public:
    using Handler = std::function<void(std::string_view object)>;
    // Throws protocol_error for text between objects and for an object of more than 1 MiB.
    void feed(std::string_view bytes, const Handler& handler);
    // Throws protocol_error when the stream ended inside an object.
    void finish() const;

  private:
    // True when this byte completes an object.
    bool step(char byte);

    std::string m_object;
    int m_depth = 0;
    bool m_in_string = false;
    bool m_escaped = false;
};

} // namespace sandbox::engine
