// What only a server with play money has: a faucet, and its mail in the page.
import type { OperationName } from 'berth-client';
import { useState } from 'preact/hooks';
import { useChange, useRead, type Change, type Read } from '../../api';
import { Ago } from '../../format';
import { Button, Empty, Failure, Panel, Sheet, toast } from '../../kit';
import { useSession } from '../../session';

interface Mail { subject: string; text: string; sent_at: string }
type Faucet = Change<'redeem_code'> & { run(given: { body: { asset: string; amount_micro: string } }): unknown };

export function useIsBox(): boolean {
    const { data } = useRead('public_status');
    return (data as { simulated?: boolean } | undefined)?.simulated === true;
}

/** Play money, through the same chain and books as any. */
export function PlayMoney({ asset = 'USDC' }: { asset?: string }) {
    const isBox = useIsBox();
    const faucet = useChange('ask_faucet' as OperationName, {
        refresh: ['show_balances', 'list_entries'],
        done: () => toast(`100.00 play ${asset} are on their way.`),
    }) as unknown as Faucet;
    if (!isBox) return null;
    return <Panel title="Play money" footer="This server is a box to try things in. Its money is worth nothing.">
        <p class="soft">No wallet needed: the box mints some and pays it in.</p>
        <Button wide busy={faucet.busy}
            onClick={() => void faucet.run({ body: { asset, amount_micro: '100000000' } })}>
            Get 100 play {asset}
        </Button>
        {faucet.error && <Failure error={faucet.error} />}
    </Panel>;
}

/** The box sends no mail: what it would have sent is shown here. */
export function BoxMail() {
    const isBox = useIsBox();
    const [isOpen, setIsOpen] = useState(false);
    if (!isBox) return null;
    return <div class="row small muted">
        <span>This box sends no mail.</span>
        <Button small kind="quiet" onClick={() => setIsOpen(true)}>Read it here</Button>
        <Sheet title="Mail of this box" open={isOpen} onClose={() => setIsOpen(false)}>
            {isOpen && <Mails />}
        </Sheet>
    </div>;
}

function Mails() {
    const email = useSession()?.email ?? '';
    const read = useRead('show_simulated_mail' as OperationName, { query: { to: email } } as never,
        { every: 2, enabled: email !== '' }) as unknown as Read<{ items: Mail[] }>;
    if (read.error) return <Failure error={read.error} retry={read.refetch} />;
    if (!read.data?.items.length) return <Empty title="Nothing yet.">It takes a second or two.</Empty>;
    return <div class="stack">
        {read.data.items.map((mail) => <section key={mail.sent_at + mail.subject} class="tight">
            <div class="row spread">
                <h3>{mail.subject}</h3><span class="small muted"><Ago at={mail.sent_at} /></span>
            </div>
            <MailText text={mail.text} />
        </section>)}
    </div>;
}

/** Links of this very server can be followed; all else is text. */
function MailText({ text }: { text: string }) {
    const parts = text.split(/(https?:\/\/[^\s]+)/);
    return <p class="small" style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
        {parts.map((part, index) => index % 2 === 1 && part.startsWith(`${location.origin}/`)
            ? <a key={index} href={part} target="_blank" rel="noreferrer">{part}</a> : part)}
    </p>;
}
