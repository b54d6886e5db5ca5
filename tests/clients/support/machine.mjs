// A host's machine as the server knows it: an Ed25519 key, requests signed by RFC 9421 with node's
// own cryptography, and the heartbeats, commands and tests of a machine that can run no job.
import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { Program, good } from './client.mjs';

const components = ['@method', '@authority', '@path', '@query', 'content-digest'];
const checks = ['driver.version', 'gpu.uniform', 'gpu.memory', 'gpu.idle', 'gpu.vram_write_read',
    'gpu.compute', 'gpu.mem_bandwidth', 'gpu.pcie', 'disk.free', 'ram', 'net.down', 'net.up',
    'container.profile', 'cleanup.wipe'];

// RFC 8785, for what has only texts, whole numbers, lists and objects.
function canonical(value) {
    if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
    if (value === null || typeof value !== 'object') return JSON.stringify(value);
    return `{${Object.keys(value).sort().map((name) =>
        `${JSON.stringify(name)}:${canonical(value[name])}`).join(',')}}`;
}

export class Machine {
    commands = []; // that were given and not answered yet

    static async enroll(owner) {
        const machine = new Machine();
        const { publicKey, privateKey } = generateKeyPairSync('ed25519');
        const { token } = good(await owner.post('/api/v1/hosts/enrollments',
            { tier: 'container' }), 201);
        machine.manifest = { architecture: 'x86_64', cpu_cores: 16, cpu_model: 'EPYC',
            cuda_max: '12.8', driver_version: '570.86.10', kernel: '6.1.0', runtime: 'podman 4.3.1',
            runtime_kind: 'container',
            gpus: [{ backends: ['cuda'], memory_bytes: '25757220864', memory_class: 'dedicated',
                model: 'NVIDIA GeForce RTX 4090', pci_address: '0000:01:00.0',
                uuid: `GPU-${randomUUID()}`, vendor: 'nvidia' }] };
        const told = good(await new Program(owner.server).post('/api/v1/host-agent/enroll', {
            token, public_key: publicKey.export({ type: 'spki', format: 'der' }).subarray(-32)
                .toString('base64'),
            protocol_version: 1, agent_version: '1.0.0', boot_id: 'boot',
            manifest: machine.manifest, manifest_hash: machine.manifestHash() }), 201);
        return Object.assign(machine, { id: told.machine_id, fence: told.fence, privateKey,
            authority: owner.server.domain });
    }

    manifestHash() {
        return `sha256:${createHash('sha256').update(canonical(this.manifest)).digest('hex')}`;
    }

    // Adds the fields of the signature to those of a request that will not change any more.
    sign({ method, path, headers, body }) {
        const [place, query = ''] = path.split('?');
        const digest = `sha-256=:${createHash('sha256').update(body ?? '').digest('base64')}:`;
        const names = components.map((name) => `"${name}"`);
        const parameters = `(${names.join(' ')});created=${Math.floor(Date.now() / 1000)}`
            + `;nonce="${randomUUID()}";keyid="${this.id}";alg="ed25519";tag="berth-agent"`;
        const values = [method, this.authority, place, `?${query}`, digest];
        const base = [...names.map((name, i) => `${name}: ${values[i]}`),
            `"@signature-params": ${parameters}`].join('\n');
        headers['Content-Digest'] = digest;
        headers['Signature-Input'] = `sig=${parameters}`;
        headers.Signature = `sig=:${sign(null, Buffer.from(base), this.privateKey).toString('base64')}:`;
    }

    // What it learns from an answer.
    note(body) {
        if (body.fence) this.fence = body.fence;
        for (const command of body.commands ?? []) {
            if (!this.commands.some((it) => it.command_id === command.command_id)) {
                this.commands.push(command);
            }
        }
    }

    heartbeat() {
        return { boot_id: 'boot', fence: this.fence, manifest_hash: this.manifestHash(),
            sent_at: new Date().toISOString(), jobs: [], telemetry: { load_1m: 0.5 },
            host_mode: { mode: 'dedicated', offerable: true, reasons: [] } };
    }

    testResult() {
        return { fence: this.fence, endpoint: null,
            checks: checks.map((id) => ({ id, status: 'pass' })),
            measurements: { vram_bytes: '25757220864', ram_bytes: '68719476736',
                disk_bytes: '1000000000000', cpu_cores: 16, download_mbps: 900.5,
                upload_mbps: 400.5, gpu_mem_bw_gbps: 920.5, tflops: 80.5, ai_speed_tok_s: 110.5,
                pcie_gbps: 25.5 } };
    }
}
