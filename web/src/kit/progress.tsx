import type { ComponentChildren } from 'preact';
import { dateText, milliseconds, type Moment, now, timeText } from '../format';
import type { Tone } from '../words';
import { Code } from './copy';
import { Icon, type IconName } from './icon';

export interface StepItem {
    title: ComponentChildren;
    state: 'done' | 'now' | 'todo' | 'failed';
    children?: ComponentChildren;
}

export function Steps({ items }: { items: readonly StepItem[] }) {
    return <ol class="steps">
        {items.map(({ title, state, children }, at) =>
            <li key={at} data-s={state} aria-current={state === 'now' ? 'step' : undefined}>
                <span class="n">{stepMark(state, at)}</span>
                <div class="tight">
                    <h2 class={state === 'todo' ? 'muted' : undefined}>{title}</h2>
                    {typeof children === 'string' ? <p class={state === 'todo' ? 'muted' : 'soft'}>{children}</p> : children}
                </div>
            </li>)}
    </ol>;
}

function stepMark(state: StepItem['state'], at: number): ComponentChildren {
    if (state === 'done') return <><span class="sr">Done</span><Icon name="check" /></>;
    if (state === 'failed') return <><span class="sr">Failed</span><Icon name="close" /></>;
    return at + 1;
}

export interface CheckItem {
    name: ComponentChildren;
    state: 'pass' | 'fail' | 'warn' | 'run' | 'wait';
    found?: ComponentChildren;
    needed?: ComponentChildren;
    remedy?: ComponentChildren;
    command?: string;
}

const checkIcons: Record<CheckItem['state'], IconName> =
    { pass: 'pass', fail: 'fail', warn: 'warn', run: 'retry', wait: 'wait' };
const checkWords: Record<CheckItem['state'], string> =
    { pass: 'Passed', fail: 'Failed', warn: 'Advice', run: 'Running', wait: 'Waiting' };

export function Checks({ items }: { items: readonly CheckItem[] }) {
    return <ul class="checks">
        <li class="cap" aria-hidden="true"><span /><span>Check</span><span>Found</span><span>Needed</span></li>
        {items.map((item, at) => <CheckRow key={at} {...item} />)}
    </ul>;
}

function CheckRow({ name, state, found, needed, remedy, command }: CheckItem) {
    const isLoud = state === 'fail' || state === 'warn';
    return <li data-s={state}>
        <Icon name={checkIcons[state]} />
        <div class="t"><span class="sr">{checkWords[state]}: </span><span class={isLoud ? 'strong' : undefined}>{name}</span></div>
        <div class="a num small">{found !== undefined && <><span class="lbl">found</span> {found}</>}</div>
        <div class="num small">{needed !== undefined && <><span class="lbl">needed</span> {needed}</>}</div>
        {(remedy || command) && <div class="remedy">
            {remedy && <p>{remedy}</p>}
            {command && <Code text={command} label="the command" />}
        </div>}
    </li>;
}

export interface TimelineItem {
    at: Moment;
    children: ComponentChildren;
    tone?: Tone;
}

const timelineTones: Partial<Record<Tone, string>> = { go: 'good', lamp: 'warn', stop: 'bad' };

export function Timeline({ items }: { items: readonly TimelineItem[] }) {
    return <ol class="timeline">
        {items.map(({ at, children, tone }, index) => <li key={index} data-s={tone && timelineTones[tone]}>
            <TimelineTime at={at} /><div>{children}</div>
        </li>)}
    </ol>;
}

function TimelineTime({ at }: { at: Moment }) {
    const ms = milliseconds(at);
    if (ms === undefined) return <time />;
    const exact = new Date(ms).toISOString();
    const isToday = new Date(ms).toDateString() === new Date(now()).toDateString();
    return <time dateTime={exact} title={`${exact} UTC`}>
        {timeText(ms, true)}{!isToday && <small>{dateText(ms)}</small>}
    </time>;
}
