// What went wrong with the hardware, as the agent told it.
import type { Schema } from 'berth-client';
import { Panel, Timeline } from '../../kit';

const words: Record<string, string> = {
    GPU_XID: 'The driver reported a fault of a GPU',
    GPU_ECC: 'Memory of a GPU had errors that were not mended',
    GPU_LOST: 'A GPU fell off its bus',
    GPU_BACK: 'A GPU is back',
};

export function HealthEvents({ events }: { events: readonly Schema<'HealthShown'>[] }) {
    if (events.length === 0) return null;
    return <Panel title="Hardware">
        <Timeline items={events.map(({ kind, at, pci_address, code, text }) => ({
            at,
            tone: kind === 'GPU_BACK' ? 'go' as const : kind === 'GPU_LOST' ? 'stop' as const : 'lamp' as const,
            children: <>
                <span class="strong">{words[kind] ?? kind}</span>
                {code !== null && ` (Xid ${code})`}
                {pci_address && <> <span class="mono small">{pci_address}</span></>}
                {text && <p class="small soft">{text}</p>}
            </>,
        }))} />
    </Panel>;
}
