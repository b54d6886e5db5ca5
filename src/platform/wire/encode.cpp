#include "base/check.hpp"
#include "base/json_text.hpp"
#include "wire/document.hpp"
#include "wire/wire.hpp"

namespace berth::wire {
namespace {

class Writer {
public:
    Writer(std::string& out, Secrets secrets) : out_(out), secrets_(secrets) {}

    void write(const Type& type, const void* value) {
        switch (type.kind) {
            case Kind::leaf: return type.leaf->write(type, value, out_);
            case Kind::secret: return write_secret(type, value);
            case Kind::json:
            case Kind::object_json: out_ += *static_cast<const std::string*>(value); return;
            case Kind::passed_object: return require(false, "what was not kept is not written");
            case Kind::enumeration: return write_enumeration(type, value);
            case Kind::structure: return write_structure(type, value);
            case Kind::map: return write_map(type, value);
            case Kind::array: return write_array(type, value);
            case Kind::one_of: return write_one_of(type, value);
            case Kind::rendered: return write_rendered(value);
            case Kind::optional:
            case Kind::nullable:
                if (const void* inner = type.get(value))
                    write(type.inner(), inner);
                else
                    out_ += "null";
        }
    }

private:
    // No secret is empty: a stored answer that was read back says null again.
    void write_secret(const Type& type, const void* value) {
        const bool shown = secrets_ == Secrets::show;
        if (shown && !static_cast<const std::string*>(value)->empty())
            type.leaf->write(type, value, out_);
        else
            out_ += "null";
    }

    void write_enumeration(const Type& type, const void* value) {
        const std::int64_t number = type.load(value);
        for (const Enumerator& each : type.enumerators)
            if (each.value == number) return append_json_string(out_, each.name);
        require(false, "an enumeration holds one of its described values");
    }

    void write_structure(const Type& type, const void* value) {
        enter('{');
        bool first = true;
        for (const Member& member : type.members) {
            const Type& inner = member.type();
            // The accessor serves the decoder too, so it takes and gives what can be changed.
            const void* part = member.at(const_cast<void*>(value));
            if (inner.kind == Kind::optional && !inner.get(part)) continue;
            if (!first) out_ += ',';
            first = false;
            out_.append(1, '"').append(member.name).append("\":");
            write(inner, part);
        }
        leave('}');
    }

    void write_one_of(const Type& type, const void* value) {
        for (const Variant& variant : type.variants)
            if (const void* held = variant.get(value)) return write(variant.type(), held);
        require(false, "a OneOf holds one of its variants");
    }

    void write_rendered(const void* value) {
        const auto& json = static_cast<const RenderedText*>(value)->json;
        require(json != nullptr, "what is sent has been rendered");
        out_ += *json;
    }

    void write_map(const Type& type, const void* value) {
        struct Context {
            Writer& writer;
            const Type& inner;
            bool first = true;
        } context{*this, type.inner()};
        enter('{');
        type.each_entry(value, &context, [](void* raw, std::string_view key, const void* entry) {
            auto& [writer, inner, first] = *static_cast<Context*>(raw);
            if (!first) writer.out_ += ',';
            first = false;
            append_json_string(writer.out_, key);
            writer.out_ += ':';
            writer.write(inner, entry);
        });
        leave('}');
    }

    void write_array(const Type& type, const void* value) {
        const Type& inner = type.inner();
        const std::size_t size = type.size(value);
        enter('[');
        for (std::size_t i = 0; i < size; ++i) {
            if (i > 0) out_ += ',';
            write(inner, type.at(value, i));
        }
        leave(']');
    }

    void enter(char bracket) {
        require(++depth_ <= Document::depth_levels_max, "what is written can be read back");
        out_ += bracket;
    }
    void leave(char bracket) {
        --depth_;
        out_ += bracket;
    }

    std::string& out_;
    Secrets secrets_;
    std::size_t depth_ = 0;
};

}  // namespace

void encode(const Type& type, const void* value, std::string& out, Secrets secrets) {
    Writer(out, secrets).write(type, value);
}

}  // namespace berth::wire
