"""A real SMTP server (aiosmtpd) for the mail tests, on 127.0.0.1.

Each mail it takes becomes FOLDER/<n>.json, as Python's mail reader understands it. FOLDER/ready
appears when the server listens.
"""

import argparse
import email
import email.policy
import json
import os
import signal
import ssl

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult

arguments = argparse.ArgumentParser()
arguments.add_argument("--port", type=int, required=True)
arguments.add_argument("--folder", required=True)
arguments.add_argument("--tls", choices=["none", "starttls", "implicit"], default="none")
arguments.add_argument("--certificate")
arguments.add_argument("--key")
arguments.add_argument("--user")
arguments.add_argument("--password")
arguments.add_argument("--refuse", default="", help="COMMAND REPLY, as in 'RCPT 550 no such user'")
options = arguments.parse_args()
refused_command, _, refusal = options.refuse.partition(" ")


class Keeper:
    count = 0

    async def handle_MAIL(self, server, session, envelope, address, mail_options):
        if refused_command == "MAIL":
            return refusal
        envelope.mail_from = address
        return "250 OK"

    async def handle_RCPT(self, server, session, envelope, address, rcpt_options):
        if refused_command == "RCPT":
            return refusal
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        if refused_command == "DATA":
            return refusal
        message = email.message_from_bytes(envelope.content, policy=email.policy.default)
        facts = {
            "from": envelope.mail_from,
            "to": envelope.rcpt_tos,
            "greeting": session.host_name,
            "tls": session.ssl is not None or options.tls == "implicit",
            "user": (session.auth_data or b"").decode() if session.authenticated else "",
            "subject": message["subject"],
            "message_id": message["message-id"],
            "text": message.get_content().replace("\r\n", "\n"),
        }
        Keeper.count += 1
        name = os.path.join(options.folder, f"{Keeper.count}.json")
        with open(name + ".part", "w", encoding="utf-8") as file:
            json.dump(facts, file)
        os.rename(name + ".part", name)
        return "250 OK"


def sign_in(server, session, envelope, mechanism, data):
    good = data.login == options.user.encode() and data.password == options.password.encode()
    return AuthResult(success=good, auth_data=data.login, handled=good)


settings = {}
if options.tls != "none":
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(options.certificate, options.key)
    if options.tls == "implicit":
        settings["ssl_context"] = context
    else:
        settings["tls_context"] = context
        settings["require_starttls"] = True
if options.user:
    settings["authenticator"] = sign_in
    settings["auth_required"] = True
    settings["auth_require_tls"] = options.tls == "starttls"
controller = Controller(Keeper(), hostname="127.0.0.1", port=options.port, **settings)
controller.start()
open(os.path.join(options.folder, "ready"), "w").close()
signal.pause()
