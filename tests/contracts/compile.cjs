// Prints the bytecode of a contract, named as its file is, as hex: node compile.cjs Token. Whatever
// would make it differ between machines (paths, hashes of metadata) is left out.
const fs = require('node:fs');
const path = require('node:path');
const solc = require('solc');

const name = process.argv[2];
const file = `${name}.sol`;
const input = {
  language: 'Solidity',
  sources: { [file]: { content: fs.readFileSync(path.join(__dirname, file), 'utf8') } },
  settings: {
    evmVersion: 'cancun',
    optimizer: { enabled: true, runs: 200 },
    metadata: { bytecodeHash: 'none', appendCBOR: false },
    outputSelection: { '*': { [name]: ['evm.bytecode.object'] } },
  },
};
const output = JSON.parse(solc.compile(JSON.stringify(input)));
if (output.errors) {
  console.error(output.errors.map((error) => error.formattedMessage).join('\n'));
  process.exit(1);
}
console.log(output.contracts[file][name].evm.bytecode.object);
