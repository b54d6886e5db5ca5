export { Async, Empty, Failure, Loading, More, Notice, type NoticeTone } from './states';
export { Bars, type BarDay, Gauge, Line } from './charts';
export { Button, type ButtonProps } from './button';
export { Checks, type CheckItem, Steps, type StepItem, Timeline, type TimelineItem } from './progress';
export { Code, Copy, useCopy } from './copy';
export { Icon, type IconName, Mark } from './icon';
export { nameSite, Page, Panel, Tabs, type Crumb } from './page';
export { Qr } from './qr';
export { Sheet } from './sheet';
export { toast, Toasts } from './toast';
export { AmountInput, Check, Choice, CodeInput, Field, type FieldIds, Segmented, Select, TextArea,
    TextInput } from './fields';
export { Badge, type Column, Facts, Stats, Table } from './table';
