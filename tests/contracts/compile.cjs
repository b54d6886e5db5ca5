// Prints the bytecode of Token.sol as hex. Whatever would make it differ between machines (paths,
// hashes of metadata) is left out.
const fs = require('node:fs');
const path = require('node:path');
const solc = require('solc');

const input = {
  language: 'Solidity',
  sources: { 'Token.sol': { content: fs.readFileSync(path.join(__dirname, 'Token.sol'), 'utf8') } },
  settings: {
    evmVersion: 'cancun',
    optimizer: { enabled: true, runs: 200 },
    metadata: { bytecodeHash: 'none', appendCBOR: false },
    outputSelection: { '*': { Token: ['evm.bytecode.object'] } },
  },
};
const output = JSON.parse(solc.compile(JSON.stringify(input)));
if (output.errors) {
  console.error(output.errors.map((error) => error.formattedMessage).join('\n'));
  process.exit(1);
}
console.log(output.contracts['Token.sol'].Token.evm.bytecode.object);
