// A fault of the page is said on the page, instead of nothing being there.

import { Component, type ReactNode } from 'react';
import { texts } from '../texts.ts';
import { Failure } from './failure.tsx';

interface GuardedProps {
  readonly children: ReactNode;
}

export class Guarded extends Component<GuardedProps, { readonly isBroken: boolean }> {
  override state = { isBroken: false };

  static getDerivedStateFromError() {
    return { isBroken: true };
  }

  override render(): ReactNode {
    if (!this.state.isBroken) return this.props.children;
    return <Failure error={new Error(texts.failure.page)} onAgain={() => location.reload()} />;
  }
}
