/** A cluster made with kubeadm whose kubelets are Deckhand. */
import { kubeadmSuite } from "../support/kubeadm-suite.ts";

kubeadmSuite("deckhand");
