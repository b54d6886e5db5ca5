// Talking to the model of a rental.
import { useEffect, useRef, useState } from 'preact/hooks';
import { useRead } from '../../api';
import { plural, useNow, visible } from '../../format';
import { Button, Copy, Icon, Notice, Panel, Select } from '../../kit';
import { useConversation, type Conversation, type Exchange } from './conversation';
import { may, type Job } from './job';

const nearBottomPx = 48;
const namesMax = 200; // whatever an engine says

/** The names that the engine knows; an engine without a list is asked by the template's. */
function useModels(job: Job): { names: string[]; isKnown: boolean } {
    const read = useRead('relay_models', { path: { id: job.job_id } }, { enabled: may(job, 'relay') });
    const data = (read.data as { data?: { id?: unknown }[] } | undefined)?.data;
    const ids = Array.isArray(data) ? data.map((each) => each?.id) : [];
    return { names: ids.filter((id) => typeof id === 'string').slice(0, namesMax), isKnown: !read.isLoading };
}

const seconds = (ms: number) => (ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`);

function Ticking({ exchange }: { exchange: Exchange }) {
    useNow(200);
    const word = exchange.state === 'waiting' ? 'waiting' : 'answering';
    return <div class="who" aria-hidden="true">{`${word} · ${seconds(performance.now() - exchange.startedAt)}`}</div>;
}

function Figures({ exchange }: { exchange: Exchange }) {
    const { state, startedAt, firstAt, endedAt, tokens } = exchange;
    const parts = [visible(exchange.model)];
    if (tokens !== undefined) parts.push(plural(tokens, 'token'));
    if (firstAt !== undefined) parts.push(`first after ${seconds(firstAt - startedAt)}`);
    const writingMs = (endedAt ?? 0) - (firstAt ?? 0);
    if (tokens !== undefined && tokens > 1 && writingMs > 50) {
        parts.push(`${Math.round(tokens * 1_000 / writingMs)} tok/s`);
    }
    if (state === 'stopped') parts.push('stopped by you');
    return <div class="who">{parts.filter(Boolean).join(' · ')}</div>;
}

/** The engine and the service write their reasons without a capital. */
function sentence(text: string): string {
    return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;
}

function Said({ exchange, again }: { exchange: Exchange; again: (() => void) | undefined }) {
    const isOpen = exchange.state === 'waiting' || exchange.state === 'streaming';
    return <>
        <div class="say me"><div class="text"><span class="sr">You: </span>{visible(exchange.asked)}</div></div>
        <div class="say" aria-busy={isOpen}>
            {isOpen ? <Ticking exchange={exchange} /> : <Figures exchange={exchange} />}
            <div class="text">
                {visible(exchange.answer)}
                {isOpen && <span class="caret" aria-hidden="true" />}
                {exchange.state === 'done' && exchange.answer === '' && <span class="muted">It answered nothing.</span>}
            </div>
            {exchange.state === 'broken' && <Notice tone="stop" role="alert"
                title={sentence(visible(exchange.fault ?? ''))}
                actions={again && <Button small onClick={again}>Send it again</Button>}>
                {exchange.requestId && <p class="small">For support: <code>{exchange.requestId}</code>{' '}
                    <Copy text={exchange.requestId} label="Copy the request id" /></p>}
            </Notice>}
        </div>
    </>;
}

/** Stays at the end while the reader is there, and leaves alone who reads further up. */
function useFollow(count: number, mark: unknown) {
    const box = useRef<HTMLDivElement>(null);
    const [isAtEnd, lastTop] = [useRef(true), useRef(0)];
    useEffect(() => { isAtEnd.current = true; }, [count]);
    useEffect(() => {
        const element = box.current;
        if (element && isAtEnd.current) element.scrollTop = element.scrollHeight;
    }, [count, mark]);
    const onScroll = () => {
        const element = box.current;
        if (!element) return;
        // What grows below moves the end away, too: only a way up is the reader's.
        const isNear = element.scrollHeight - element.scrollTop - element.clientHeight < nearBottomPx;
        if (isNear || element.scrollTop < lastTop.current) isAtEnd.current = isNear;
        lastTop.current = element.scrollTop;
    };
    return { box, onScroll };
}

function Log({ talk, canSend }: { talk: Conversation; canSend: boolean }) {
    const last = talk.exchanges.at(-1);
    const { box, onScroll } = useFollow(talk.exchanges.length, `${last?.answer.length} ${last?.state}`);
    return <div class="chat" role="log" aria-label="Conversation" aria-busy={talk.isBusy} tabIndex={0} ref={box}
        onScroll={onScroll} style={{ maxHeight: '64vh', overflowY: 'auto' }}>
        {talk.exchanges.length === 0 && <p class="muted">
            {canSend ? 'It answers. Ask it something.' : 'You can write once it answers.'}</p>}
        {talk.exchanges.map((exchange, index) => <Said key={index} exchange={exchange}
            again={canSend && !talk.isBusy && exchange === last ? () => void talk.sendAgain() : undefined} />)}
    </div>;
}

interface ComposerProps { talk: Conversation; canSend: boolean; focusNow: boolean }

function Composer({ talk, canSend, focusNow }: ComposerProps) {
    const [text, setText] = useState('');
    const field = useRef<HTMLTextAreaElement>(null);
    useEffect(() => { if (focusNow) field.current?.focus({ preventScroll: true }); }, [focusNow]);
    const submit = (event: Event) => {
        event.preventDefault();
        if (talk.isBusy || !canSend || text.trim() === '') return;
        setText('');
        void talk.send(text);
    };
    const onKeyDown = (event: KeyboardEvent) => {
        if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) submit(event);
    };
    return <form class="composer" onSubmit={submit}>
        <textarea class="input" aria-label="Message" rows={1} placeholder="Write to the model" value={text} ref={field}
            data-wants-focus={focusNow || undefined}
            onInput={(event) => setText(event.currentTarget.value)} onKeyDown={onKeyDown} />
        {talk.isBusy
            ? <Button kind="primary" onClick={talk.stop}><Icon name="stop" />Stop answer</Button>
            : <Button kind="primary" type="submit" disabled={!canSend || text.trim() === ''}>Send</Button>}
    </form>;
}

/** `focusNow`: it came up before the reader's eyes. */
export function Chat({ job, focusNow }: { job: Job; focusNow: boolean }) {
    const { names, isKnown } = useModels(job);
    const [chosen, setChosen] = useState<string>();
    const model = chosen ?? names[0] ?? job.template?.template_id ?? 'default';
    const talk = useConversation(job.job_id, model);
    const canSend = may(job, 'relay') && isKnown;
    const aside = <div class="row">
        <span class="small muted only-wide">Costs nothing on top: you pay for the machine's time</span>
        {names.length > 1 && <Select value={model} onChange={setChosen} label="Model"
            options={names.map((name) => [name, visible(name)])} />}
        {talk.exchanges.length > 0 && <Button kind="quiet" small onClick={talk.clear}>Clear</Button>}
    </div>;
    return <Panel title="Chat" flush aside={aside}
        footer="Enter sends, Shift Enter makes a line. Nothing is kept: this conversation ends with the tab.">
        <Log talk={talk} canSend={canSend} />
        <Composer talk={talk} canSend={canSend} focusNow={focusNow} />
    </Panel>;
}

