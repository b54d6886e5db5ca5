#!/usr/bin/env python3
"""What a browser does with the address that `berth rentals open` prints: shows the token of the fragment
once, gets the page, and speaks to its websocket. Prints what came back.

usage: page_client.py ADDRESS
"""

import base64
import http.client
import os
import struct
import sys
import urllib.parse


def read_exactly(file, count: int) -> bytes:
    data = file.read(count)
    if len(data) != count:
        raise SystemExit("the websocket was closed")
    return data


def main() -> None:
    address = urllib.parse.urlsplit(sys.argv[1])
    origin = f"{address.scheme}://{address.netloc}"
    # The name ends in .localhost: it is this machine, whatever its resolver says.
    host = ("127.0.0.1", address.port)
    first = http.client.HTTPConnection(*host, timeout=20)
    first.request("POST", "/.berth/enter", body=address.fragment,
                  headers={"Host": address.netloc, "Origin": origin, "Content-Type": "text/plain"})
    entered = first.getresponse()
    entered.read()
    cookie = entered.getheader("Set-Cookie", "").split(";")[0]
    print(f"enter {entered.status}")
    headers = {"Host": address.netloc, "Cookie": cookie}
    second = http.client.HTTPConnection(*host, timeout=20)
    second.request("GET", "/", headers=headers)
    page = second.getresponse()
    text = page.read()
    print(f"page {page.status}, {len(text)} bytes, with a websocket: {b'WebSocket' in text}")
    third = http.client.HTTPConnection(*host, timeout=20)
    third.putrequest("GET", "/ws", skip_host=True)
    for name, value in {**headers, "Origin": origin, "Connection": "Upgrade", "Upgrade": "websocket",
                        "Sec-WebSocket-Version": "13",
                        "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode()}.items():
        third.putheader(name, value)
    third.endheaders()
    file = third.sock.makefile("rwb")
    status = file.readline().decode().strip()
    while file.readline().strip():
        pass
    print(f"websocket {status}")
    mask, said = os.urandom(4), b"hello"
    file.write(struct.pack("!BB", 0x81, 0x80 | len(said)) + mask +
               bytes(byte ^ mask[i % 4] for i, byte in enumerate(said)))
    file.flush()
    _, size = read_exactly(file, 2)
    if size == 126:
        size = struct.unpack("!H", read_exactly(file, 2))[0]
    print(read_exactly(file, size).decode())


if __name__ == "__main__":
    main()
