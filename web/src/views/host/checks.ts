// The machine test in people's words.
import type { Schema } from 'berth-client';
import { count, gib } from '../../format';

type Check = Schema<'Check'>;

interface Known {
    name: string;
    /** What to run on the machine to look closer; undefined where nothing helps. */
    command?: string;
}

const doctor = 'berth-agent doctor';

const known: Record<string, Known> = {
    'agent.signature': { name: 'Signed by the machine' },
    'manifest.match': { name: 'Hardware as it was enrolled', command: 'berth-agent status' },
    'driver.version': { name: 'Driver', command: 'nvidia-smi --query-gpu=driver_version --format=csv' },
    'gpu.uniform': { name: 'GPUs of one model', command: 'nvidia-smi -L' },
    'gpu.memory': { name: 'GPU memory', command: 'nvidia-smi --query-gpu=memory.total --format=csv' },
    'gpu.idle': { name: 'Nothing else uses the GPUs', command: 'nvidia-smi' },
    'gpu.vram_write_read': {
        name: 'GPU memory gives back what was written', command: 'sudo nvidia-smi --reset-gpu-clocks',
    },
    'gpu.compute': { name: 'GPUs compute right', command: 'sudo nvidia-smi --reset-gpu-clocks' },
    'gpu.mem_bandwidth': { name: 'GPU memory bandwidth', command: 'nvidia-smi -q -d CLOCK,POWER,TEMPERATURE' },
    'gpu.pcie': {
        name: 'Line between host and GPU',
        command: 'nvidia-smi --query-gpu=pcie.link.gen.current,pcie.link.width.current --format=csv',
    },
    'gpu.proof': { name: 'GPUs proven to the server', command: 'nvidia-smi' },
    'disk.free': { name: 'Free disk', command: 'df -h /var/lib/berth-agent' },
    ram: { name: 'Memory', command: 'free -h' },
    'net.down': { name: 'Download speed' },
    'net.up': { name: 'Upload speed' },
    'net.endpoint': { name: 'Reachable from outside', command: doctor },
    'container.profile': { name: 'Containers are shut in', command: doctor },
    'cleanup.wipe': { name: 'Wiped after a rental', command: doctor },
};

/** In the order of the test. */
export const expectedChecks: readonly string[] = Object.values(known).map(({ name }) => name);

/** Told of only where there is trouble. */
const seldom: Record<string, string> = { 'net.gate': 'A door of a gate' };

export function checkName(id: string): string {
    return known[id]?.name ?? seldom[id] ?? id;
}

function valueText(value: unknown, unit: string | null | undefined): string | undefined {
    if (value === null || value === undefined || value === '') return undefined;
    if (typeof value === 'boolean') return value ? 'yes' : 'no';
    if (Array.isArray(value)) return value.map((each) => valueText(each, unit) ?? '').join(', ');
    if (typeof value === 'object') return JSON.stringify(value);
    const isNumber = typeof value === 'number' || /^\d+$/.test(String(value));
    if (isNumber && (unit === 'bytes' || unit === 'B')) return gib(Number(value) / 2 ** 30);
    const text = isNumber && Number.isInteger(Number(value)) ? count(String(value)) : String(value);
    return unit ? `${text} ${unitText(unit)}` : text;
}

function unitText(unit: string): string {
    const names: Record<string, string> = {
        mbps: 'Mb/s', Mbps: 'Mb/s', gbps: 'GB/s', tok_s: 'tok/s', tflops: 'TFLOPS', pct: '%',
    };
    return names[unit] ?? unit;
}

export interface ShownCheck {
    id: string;
    name: string;
    state: 'pass' | 'fail' | 'warn' | 'wait';
    found: string | undefined;
    needed: string | undefined;
    remedy: string | undefined;
    command: string | undefined;
}

const states: Record<string, ShownCheck['state']> = { pass: 'pass', fail: 'fail', warn: 'warn', skipped: 'wait' };
const order = { fail: 0, warn: 1, pass: 2, wait: 3 };

/** Those that failed first, then advice, then the rest as they were made. */
export function shownChecks(checks: readonly Check[]): ShownCheck[] {
    return checks.map((check): ShownCheck => {
        const state = states[check.status] ?? 'pass';
        const isTrouble = state === 'fail' || state === 'warn';
        const found = valueText(check.actual, check.unit);
        const words = [found === undefined ? undefined : check.summary, check.remediation].filter(Boolean).join(' ');
        return {
            id: check.id, name: checkName(check.id), state,
            found: check.status === 'skipped' ? 'left out' : found ?? check.summary ?? undefined,
            needed: valueText(check.required, check.unit),
            remedy: isTrouble && words ? words : undefined,
            command: state === 'fail' ? known[check.id]?.command : undefined,
        };
    }).sort((a, b) => order[a.state] - order[b.state]);
}
