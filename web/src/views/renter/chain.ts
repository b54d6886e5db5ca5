// The chain of a rental's evidence, checked record by record.
import { useEffect, useState } from 'preact/hooks';
import { CannotCheck, fromBase64, isMachineSigned, isRecordWhole, type Evidence } from './proofs';

export type Verdict = 'good' | 'bad';
interface Checked { whole: Verdict; signed: Verdict | undefined }

export interface Chain {
    /** How many records from the first on were looked at. */
    checked: number;
    signatures: number;
    /** What is wrong, for people. */
    faults: string[];
    /** Why this browser cannot look. */
    cannot: string | undefined;
    of: (record: Evidence) => Checked | undefined;
}

/** A record that was looked at once is not looked at again. */
const known = new WeakMap<Evidence, Checked>();

async function look(record: Evidence): Promise<Checked> {
    const before = known.get(record);
    if (before) return before;
    const checked: Checked = {
        whole: await isRecordWhole(record) ? 'good' : 'bad',
        signed: record.signed ? (await isMachineSigned(record.signed) ? 'good' : 'bad') : undefined,
    };
    known.set(record, checked);
    return checked;
}

function faultsOf(record: Evidence, before: Evidence | undefined, checked: Checked): string[] {
    const name = `Record ${record.sequence}`;
    const faults: string[] = [];
    if (BigInt(record.sequence) !== BigInt(before?.sequence ?? 0) + 1n) {
        faults.push(`${name}: the one before it is missing.`);
    } else if (record.previous_hash !== (before?.hash ?? null)) {
        faults.push(`${name} does not follow the one before it.`);
    }
    if (checked.whole === 'bad') faults.push(`${name} is not what was written.`);
    if (checked.signed === 'bad') faults.push(`${name} is not what the machine signed.`);
    return faults;
}

const unchecked = { checked: 0, signatures: 0, faults: [] as string[], cannot: undefined as string | undefined };

export function useChain(records: Evidence[] | undefined): Chain {
    const [state, setState] = useState(unchecked);
    const mark = `${records?.length} ${records?.at(-1)?.hash}`;
    useEffect(() => {
        let isLeft = false;
        const run = async () => {
            const found = { ...unchecked, faults: [] as string[] };
            for (const [index, record] of (records ?? []).entries()) {
                const checked = await look(record);
                if (isLeft) return;
                found.faults.push(...faultsOf(record, records?.[index - 1], checked));
                found.checked = index + 1;
                if (checked.signed === 'good') ++found.signatures;
            }
            setState(found);
        };
        run().catch((fault: unknown) => {
            const cannot = fault instanceof CannotCheck ? fault.message : 'It could not be checked.';
            if (!isLeft) setState({ ...unchecked, cannot });
        });
        return () => { isLeft = true; };
    }, [mark]);
    return { ...state, of: (record) => known.get(record) };
}

export interface Sample { at: number; heatC: number | undefined; powerW: number | undefined }

function figures(values: unknown[]): number[] {
    return values.filter((value): value is number => typeof value === 'number' && Number.isFinite(value));
}

/** The hottest card and the power of all, out of what the machine signed; absent where it measured nothing. */
export function sampleOf(record: Evidence): Sample | undefined {
    if (record.kind !== 'USAGE' || !record.signed) return undefined;
    try {
        const said = JSON.parse(new TextDecoder().decode(fromBase64(record.signed.body))) as {
            telemetry?: { gpus?: { temperature_c?: unknown; power_w?: unknown }[] } };
        const cards = said.telemetry?.gpus;
        if (!Array.isArray(cards)) return undefined;
        const heats = figures(cards.map((card) => card?.temperature_c));
        const powers = figures(cards.map((card) => card?.power_w));
        return {
            at: Date.parse(record.at),
            heatC: heats.length ? Math.max(...heats) : undefined,
            powerW: powers.length ? powers.reduce((sum, each) => sum + each, 0) : undefined,
        };
    } catch {
        return undefined;
    }
}
