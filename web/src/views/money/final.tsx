// The wait for the chain, and where to watch it.
import { count, When } from '../../format';
import type { Claiming, Intent } from './claiming';
import { brief } from './wallet';

function explorer(intent: Intent): string {
    const told = intent.network?.explorer_url;
    return told && /^https:\/\//.test(told) ? told.replace(/\/$/, '') : 'https://basescan.org';
}

export function TransactionLink({ intent, hash }: { intent: Intent; hash: string }) {
    return <p class="soft">Transaction{' '}
        <a class="mono" href={`${explorer(intent)}/tx/${hash}`} target="_blank" rel="noreferrer">{brief(hash)}</a>
    </p>;
}

export function Final({ intent, claiming, isSent }: { intent: Intent; claiming: Claiming; isSent: boolean }) {
    if (intent.state === 'CONFIRMED') return <p class="soft"><When at={intent.claim?.confirmed_at} /></p>;
    if (!isSent) {
        return <p class="muted">Usually 15 to 20 minutes on Base. Once it is seen you may close this page.</p>;
    }
    const pending = intent.pending_claim;
    if (pending) return <Pending pending={pending} />;
    if (claiming.step === 'claimed') {
        return <p class="soft" role="status">Seen. Final in about 15 minutes; you may leave, the money arrives without
            this page.</p>;
    }
    const isTrouble = claiming.step === 'looking' && claiming.isTrouble;
    return <div class="tight" role="status">
        <p class="soft">Looking for it on the chain. Keep this page open until it is seen.</p>
        {isTrouble && <p class="small muted">The chain cannot be read right now. Nothing is lost; trying again.</p>}
    </div>;
}

function Pending({ pending }: { pending: NonNullable<Intent['pending_claim']> }) {
    const [done, needed] = [Number(pending.confirmations ?? 0), Number(pending.needed ?? 0)];
    const block = pending.block_number;
    return <div class="tight">
        <p class="soft" role="status">
            {block !== undefined ? `Seen in block ${count(block)}. ` : 'Seen. '}
            Final in about 15 minutes; you may leave, the money arrives without this page.
        </p>
        {needed > 0 && <>
            <progress max={needed} value={Math.min(done, needed)}
                style={{ width: '100%', accentColor: 'var(--accent)' }} aria-label="How far it is from being final" />
            <p class="small muted num">{count(done)} of about {count(needed)} blocks</p>
        </>}
    </div>;
}
