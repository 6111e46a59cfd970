/** A cluster made with kubeadm whose kubelets are the Go kubelet: what it does in the same guests, for comparison. */
import { kubeadmSuite } from "../support/kubeadm-suite.ts";

kubeadmSuite("go");
