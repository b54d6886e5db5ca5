// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

// A wallet that is a contract, as many on Base are: no key is behind its address. Its owner acts
// through it, and it calls what its owner signed its own (ERC-1271). In front of the owner's
// signature it wants a number, as wallets with several owners do, so that the whole is longer than
// a plain signature.
contract Wallet {
    bytes4 private constant VALID = 0x1626ba7e;

    address public immutable owner;

    constructor(address owner_) {
        owner = owner_;
    }

    function execute(address to, bytes calldata data) external {
        require(msg.sender == owner, "only the owner");
        (bool done, ) = to.call(data);
        require(done, "the call failed");
    }

    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        require(signature.length == 97, "a number and a signature");
        require(uint256(bytes32(signature[0:32])) == 0, "there is one owner");
        bytes32 r = bytes32(signature[32:64]);
        bytes32 s = bytes32(signature[64:96]);
        return ecrecover(hash, uint8(signature[96]), r, s) == owner ? VALID : bytes4(0xffffffff);
    }
}
