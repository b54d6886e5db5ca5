// Letters as RFC 5322 text: exact for the simple ones, parsed back by Python's mail reader for all.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "base/json_text.hpp"
#include "mail/mime.hpp"
#include "mail/repeated.hpp"
#include "support/folder.hpp"
#include "support/linear.hpp"
#include "support/process.hpp"

namespace berth::mail {
namespace {

using namespace std::string_literals;

Letter letter(std::string subject, std::string text) {
    return {"0190a8f0-0000-7000-8000-000000000001",
            Time{1'794'712'001'000'000},
            "berth@berth.example",
            "alice@example.com",
            std::move(subject),
            std::move(text)};
}

std::string subject_of(const std::string& message) {
    const std::size_t begin = message.find("Subject: ");
    return message.substr(begin, message.find("\r\nMessage-ID:") - begin);
}

std::string body_of(const std::string& message) {
    return message.substr(message.find("\r\n\r\n") + 4);
}

TEST(Mime, WritesAPlainLetter) {
    EXPECT_EQ(write_message(letter("Your code", "Hello\n\nYour code is 123456.\n")),
              "Date: Sun, 15 Nov 2026 03:06:41 +0000\r\n"
              "From: berth@berth.example\r\n"
              "To: alice@example.com\r\n"
              "Subject: Your code\r\n"
              "Message-ID: <0190a8f0-0000-7000-8000-000000000001@berth.example>\r\n"
              "Auto-Submitted: auto-generated\r\n"
              "MIME-Version: 1.0\r\n"
              "Content-Type: text/plain; charset=utf-8\r\n"
              "Content-Transfer-Encoding: 7bit\r\n"
              "\r\n"
              "Hello\r\n"
              "\r\n"
              "Your code is 123456.\r\n");
}

TEST(Mime, EncodesASubjectThatIsNotShortAscii) {
    EXPECT_EQ(subject_of(write_message(letter("Gr\xC3\xBC\xC3\x9F dich", "x"))),
              "Subject: =?utf-8?q?Gr=C3=BC=C3=9F_dich?=");
    EXPECT_EQ(subject_of(write_message(letter("=?utf-8?q?x?=", "x"))),
              "Subject: =?utf-8?q?=3D=3Futf=2D8=3Fq=3Fx=3F=3D?=");
    EXPECT_EQ(
        subject_of(write_message(letter(repeated(61, 'a'), "x"))),
        "Subject: =?utf-8?q?" + repeated(50, 'a') + "?=\r\n =?utf-8?q?" + repeated(11, 'a') + "?=");
}

TEST(Mime, EncodesATextThatIsNotShortLinesOfAscii) {
    EXPECT_EQ(body_of(write_message(letter("x", "\xC3\xA9 = x \nend\t"))),
              "=C3=A9 =3D x=20\r\nend=09\r\n");
    EXPECT_EQ(body_of(write_message(letter("x", "a\rb"))), "a=0Db\r\n");
    EXPECT_EQ(body_of(write_message(letter("x", repeated(998, 'a')))), repeated(998, 'a') + "\r\n");
    EXPECT_EQ(body_of(write_message(letter("x", repeated(999, 'a')))).substr(0, 80),
              repeated(75, 'a') + "=\r\naa");
}

TEST(Mime, LineEndsOfEitherKindAreOne) {
    EXPECT_EQ(body_of(write_message(letter("x", "a\nb\r\nc"))), "a\r\nb\r\nc\r\n");
    EXPECT_EQ(body_of(write_message(letter("x", ""))), "");
}

TEST(Mime, RefusesWhatCouldStartAnotherHeader) {
    const std::string bad[] = {
        "",
        "a\r\nBcc: b@c.d",
        "a\nBcc: b@c.d",
        "a\rb",
        "\n",
        "a\0b"s,
        "a\tb",
        "a\x1B[31m",
        "a\x7F",
        "\xFF",
        "\xC0\x8A",
        "\xED\xA0\x80",
        repeated(401, 'a'),
    };
    for (const std::string& text : bad) EXPECT_FALSE(is_subject(text)) << text;
    EXPECT_TRUE(is_subject(repeated(400, 'a')));
    EXPECT_TRUE(is_subject("Gr\xC3\xBC\xC3\x9F: = ? _ <>"));
}

TEST(Mime, RefusesATextThatIsNotUtf8OrTooLong) {
    EXPECT_FALSE(is_text("a\0b"s));
    EXPECT_FALSE(is_text("\xFF"));
    EXPECT_FALSE(is_text(repeated(text_bytes_max + 1, 'a')));
    EXPECT_TRUE(is_text(repeated(text_bytes_max, 'a')));
    EXPECT_TRUE(is_text(""));
}

// [subject, text with LF] as Python's email package reads the message.
std::string read_by_python(const std::string& message) {
    const test::TemporaryFolder folder;
    const std::string path = folder.path() + "/message.eml";
    std::ofstream(path, std::ios::binary) << message;
    const std::string program =
        "import email, email.policy, json, sys\n"
        "m = email.message_from_binary_file(open(sys.argv[1], 'rb'), policy=email.policy.default)\n"
        "assert not m.defects, m.defects\n"
        "assert len(m.keys()) == 9, m.keys()\n"
        "for k, v in m.items(): assert not v.defects, (k, v.defects)\n"
        "text = m.get_content().replace('\\r\\n', '\\n')\n"
        "print(json.dumps([m['subject'], text], ensure_ascii=False), end='')\n";
    return test::run_program({"/usr/bin/python3", "-X", "utf8", "-c", program, path}).output;
}

TEST(Mime, ARealReaderReadsBackWhatWasWritten) {
    std::string hearts;
    for (int i = 0; i < 100; ++i) hearts += "\xF0\x9F\x92\x9C ";
    const Letter letters[] = {
        letter("Your code", "Hello\n.\n..\nFrom here on\n"),
        letter("Gr\xC3\xBC\xC3\x9F", "\xC3\x84pfel = 1\n" + hearts + "\n.\n"),
        letter(hearts.substr(0, 400), repeated(5000, 'x') + "\n"),
        letter(" spaces  around ", "trailing \nand tab\t\n"),
        letter("=?utf-8?b?QUJD?=", "https://berth.example/sign-in?token=brl_abc=\n"),
        letter("\xE2\x80\xA8"
               "bidi \xE2\x80\xAE",
               "\xEF\xBB\xBF"
               "mark\n"),
    };
    for (const Letter& one : letters) {
        std::string expected = "[";
        append_json_string(expected, one.subject);
        expected += ", ";
        append_json_string(expected, one.text);
        expected += "]";
        EXPECT_EQ(read_by_python(write_message(one)), expected) << write_message(one);
    }
}

TEST(Mime, EveryLineIsShortAsciiWithCrlf) {
    std::string all;
    for (int i = 0; i < 3000; ++i) all += i % 7 == 0 ? "\xC3\xA9" : i % 11 == 0 ? "\r" : "= ";
    const std::string message = write_message(letter(repeated(400, '='), all));
    std::size_t begin = 0;
    while (begin < message.size()) {
        const std::size_t end = message.find("\r\n", begin);
        ASSERT_NE(end, std::string::npos);
        EXPECT_LE(end - begin, 78U);
        EXPECT_TRUE(std::all_of(message.begin() + static_cast<std::ptrdiff_t>(begin),
                                message.begin() + static_cast<std::ptrdiff_t>(end),
                                [](char c) { return c >= 0x20 && c < 0x7F; }));
        begin = end + 2;
    }
}

TEST(Mime, IsWrittenInLinearTime) {
    for (const std::string unit : {"a", "é", "\n", "\r\n", " ", "=", " \n", "."})
        test::expect_linear(
            unit, text_bytes_max, [&](std::size_t bytes) { return test::repeated(unit, bytes); },
            [](const std::string& text) { return write_message(letter("Subject", text)); });
}

}  // namespace
}  // namespace berth::mail
