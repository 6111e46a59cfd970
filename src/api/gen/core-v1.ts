// Generated from the API server's OpenAPI documents by tools/generate/api-types.ts. Do not edit.

import type { Condition, LabelSelector, ObjectMeta } from "./meta-v1.ts";

export interface AWSElasticBlockStoreVolumeSource {
  readonly fsType?: string;
  readonly partition?: number;
  readonly readOnly?: boolean;
  readonly volumeID: string;
}

export interface Affinity {
  readonly nodeAffinity?: NodeAffinity;
  readonly podAffinity?: PodAffinity;
  readonly podAntiAffinity?: PodAntiAffinity;
}

export interface AppArmorProfile {
  readonly localhostProfile?: string;
  readonly type: string;
}

export interface AttachedVolume {
  readonly devicePath: string;
  readonly name: string;
}

export interface AzureDiskVolumeSource {
  readonly cachingMode?: string;
  readonly diskName: string;
  readonly diskURI: string;
  readonly fsType?: string;
  readonly kind?: string;
  readonly readOnly?: boolean;
}

export interface AzureFilePersistentVolumeSource {
  readonly readOnly?: boolean;
  readonly secretName: string;
  readonly secretNamespace?: string;
  readonly shareName: string;
}

export interface AzureFileVolumeSource {
  readonly readOnly?: boolean;
  readonly secretName: string;
  readonly shareName: string;
}

export interface CSIPersistentVolumeSource {
  readonly controllerExpandSecretRef?: SecretReference;
  readonly controllerPublishSecretRef?: SecretReference;
  readonly driver: string;
  readonly fsType?: string;
  readonly nodeExpandSecretRef?: SecretReference;
  readonly nodePublishSecretRef?: SecretReference;
  readonly nodeStageSecretRef?: SecretReference;
  readonly readOnly?: boolean;
  readonly volumeAttributes?: Readonly<Record<string, string>>;
  readonly volumeHandle: string;
}

export interface CSIVolumeSource {
  readonly driver: string;
  readonly fsType?: string;
  readonly nodePublishSecretRef?: LocalObjectReference;
  readonly readOnly?: boolean;
  readonly volumeAttributes?: Readonly<Record<string, string>>;
}

export interface Capabilities {
  readonly add?: readonly string[];
  readonly drop?: readonly string[];
}

export interface CephFSPersistentVolumeSource {
  readonly monitors: readonly string[];
  readonly path?: string;
  readonly readOnly?: boolean;
  readonly secretFile?: string;
  readonly secretRef?: SecretReference;
  readonly user?: string;
}

export interface CephFSVolumeSource {
  readonly monitors: readonly string[];
  readonly path?: string;
  readonly readOnly?: boolean;
  readonly secretFile?: string;
  readonly secretRef?: LocalObjectReference;
  readonly user?: string;
}

export interface CinderPersistentVolumeSource {
  readonly fsType?: string;
  readonly readOnly?: boolean;
  readonly secretRef?: SecretReference;
  readonly volumeID: string;
}

export interface CinderVolumeSource {
  readonly fsType?: string;
  readonly readOnly?: boolean;
  readonly secretRef?: LocalObjectReference;
  readonly volumeID: string;
}

export interface ClientIPConfig {
  readonly timeoutSeconds?: number;
}

export interface ClusterTrustBundleProjection {
  readonly labelSelector?: LabelSelector;
  readonly name?: string;
  readonly optional?: boolean;
  readonly path: string;
  readonly signerName?: string;
}

export interface ConfigMap {
  readonly apiVersion?: string;
  readonly binaryData?: Readonly<Record<string, string>>;
  readonly data?: Readonly<Record<string, string>>;
  readonly immutable?: boolean;
  readonly kind?: string;
  readonly metadata?: ObjectMeta;
}

export interface ConfigMapEnvSource {
  readonly name?: string;
  readonly optional?: boolean;
}

export interface ConfigMapKeySelector {
  readonly key: string;
  readonly name?: string;
  readonly optional?: boolean;
}

export interface ConfigMapNodeConfigSource {
  readonly kubeletConfigKey: string;
  readonly name: string;
  readonly namespace: string;
  readonly resourceVersion?: string;
  readonly uid?: string;
}

export interface ConfigMapProjection {
  readonly items?: readonly KeyToPath[];
  readonly name?: string;
  readonly optional?: boolean;
}

export interface ConfigMapVolumeSource {
  readonly defaultMode?: number;
  readonly items?: readonly KeyToPath[];
  readonly name?: string;
  readonly optional?: boolean;
}

export interface Container {
  readonly args?: readonly string[];
  readonly command?: readonly string[];
  readonly env?: readonly EnvVar[];
  readonly envFrom?: readonly EnvFromSource[];
  readonly image?: string;
  readonly imagePullPolicy?: string;
  readonly lifecycle?: Lifecycle;
  readonly livenessProbe?: Probe;
  readonly name: string;
  readonly ports?: readonly ContainerPort[];
  readonly readinessProbe?: Probe;
  readonly resizePolicy?: readonly ContainerResizePolicy[];
  readonly resources?: ResourceRequirements;
  readonly restartPolicy?: string;
  readonly restartPolicyRules?: readonly ContainerRestartRule[];
  readonly securityContext?: SecurityContext;
  readonly startupProbe?: Probe;
  readonly stdin?: boolean;
  readonly stdinOnce?: boolean;
  readonly terminationMessagePath?: string;
  readonly terminationMessagePolicy?: string;
  readonly tty?: boolean;
  readonly volumeDevices?: readonly VolumeDevice[];
  readonly volumeMounts?: readonly VolumeMount[];
  readonly workingDir?: string;
}

export interface ContainerExtendedResourceRequest {
  readonly containerName: string;
  readonly requestName: string;
  readonly resourceName: string;
}

export interface ContainerImage {
  readonly names?: readonly string[];
  readonly sizeBytes?: number;
}

export interface ContainerPort {
  readonly containerPort: number;
  readonly hostIP?: string;
  readonly hostPort?: number;
  readonly name?: string;
  readonly protocol?: string;
}

export interface ContainerResizePolicy {
  readonly resourceName: string;
  readonly restartPolicy: string;
}

export interface ContainerRestartRule {
  readonly action: string;
  readonly exitCodes?: ContainerRestartRuleOnExitCodes;
}

export interface ContainerRestartRuleOnExitCodes {
  readonly operator: string;
  readonly values?: readonly number[];
}

export interface ContainerState {
  readonly running?: ContainerStateRunning;
  readonly terminated?: ContainerStateTerminated;
  readonly waiting?: ContainerStateWaiting;
}

export interface ContainerStateRunning {
  readonly startedAt?: string;
}

export interface ContainerStateTerminated {
  readonly containerID?: string;
  readonly exitCode: number;
  readonly finishedAt?: string;
  readonly message?: string;
  readonly reason?: string;
  readonly signal?: number;
  readonly startedAt?: string;
}

export interface ContainerStateWaiting {
  readonly message?: string;
  readonly reason?: string;
}

export interface ContainerStatus {
  readonly allocatedResources?: Readonly<Record<string, string>>;
  readonly allocatedResourcesStatus?: readonly ResourceStatus[];
  readonly containerID?: string;
  readonly image: string;
  readonly imageID: string;
  readonly lastState?: ContainerState;
  readonly name: string;
  readonly ready: boolean;
  readonly resources?: ResourceRequirements;
  readonly restartCount: number;
  readonly started?: boolean;
  readonly state?: ContainerState;
  readonly stopSignal?: string;
  readonly user?: ContainerUser;
  readonly volumeMounts?: readonly VolumeMountStatus[];
}

export interface ContainerUser {
  readonly linux?: LinuxContainerUser;
}

export interface DaemonEndpoint {
  readonly Port: number;
}

export interface DownwardAPIProjection {
  readonly items?: readonly DownwardAPIVolumeFile[];
}

export interface DownwardAPIVolumeFile {
  readonly fieldRef?: ObjectFieldSelector;
  readonly mode?: number;
  readonly path: string;
  readonly resourceFieldRef?: ResourceFieldSelector;
}

export interface DownwardAPIVolumeSource {
  readonly defaultMode?: number;
  readonly items?: readonly DownwardAPIVolumeFile[];
}

export interface EmptyDirVolumeSource {
  readonly medium?: string;
  readonly sizeLimit?: string;
}

export interface EnvFromSource {
  readonly configMapRef?: ConfigMapEnvSource;
  readonly prefix?: string;
  readonly secretRef?: SecretEnvSource;
}

export interface EnvVar {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: EnvVarSource;
}

export interface EnvVarSource {
  readonly configMapKeyRef?: ConfigMapKeySelector;
  readonly fieldRef?: ObjectFieldSelector;
  readonly fileKeyRef?: FileKeySelector;
  readonly resourceFieldRef?: ResourceFieldSelector;
  readonly secretKeyRef?: SecretKeySelector;
}

export interface EphemeralContainer {
  readonly args?: readonly string[];
  readonly command?: readonly string[];
  readonly env?: readonly EnvVar[];
  readonly envFrom?: readonly EnvFromSource[];
  readonly image?: string;
  readonly imagePullPolicy?: string;
  readonly lifecycle?: Lifecycle;
  readonly livenessProbe?: Probe;
  readonly name: string;
  readonly ports?: readonly ContainerPort[];
  readonly readinessProbe?: Probe;
  readonly resizePolicy?: readonly ContainerResizePolicy[];
  readonly resources?: ResourceRequirements;
  readonly restartPolicy?: string;
  readonly restartPolicyRules?: readonly ContainerRestartRule[];
  readonly securityContext?: SecurityContext;
  readonly startupProbe?: Probe;
  readonly stdin?: boolean;
  readonly stdinOnce?: boolean;
  readonly targetContainerName?: string;
  readonly terminationMessagePath?: string;
  readonly terminationMessagePolicy?: string;
  readonly tty?: boolean;
  readonly volumeDevices?: readonly VolumeDevice[];
  readonly volumeMounts?: readonly VolumeMount[];
  readonly workingDir?: string;
}

export interface EphemeralVolumeSource {
  readonly volumeClaimTemplate?: PersistentVolumeClaimTemplate;
}

export interface Event {
  readonly action?: string;
  readonly apiVersion?: string;
  readonly count?: number;
  readonly eventTime?: string;
  readonly firstTimestamp?: string;
  readonly involvedObject: ObjectReference;
  readonly kind?: string;
  readonly lastTimestamp?: string;
  readonly message?: string;
  readonly metadata: ObjectMeta;
  readonly reason?: string;
  readonly related?: ObjectReference;
  readonly reportingComponent?: string;
  readonly reportingInstance?: string;
  readonly series?: EventSeries;
  readonly source?: EventSource;
  readonly type?: string;
}

export interface EventSeries {
  readonly count?: number;
  readonly lastObservedTime?: string;
}

export interface EventSource {
  readonly component?: string;
  readonly host?: string;
}

export interface ExecAction {
  readonly command?: readonly string[];
}

export interface FCVolumeSource {
  readonly fsType?: string;
  readonly lun?: number;
  readonly readOnly?: boolean;
  readonly targetWWNs?: readonly string[];
  readonly wwids?: readonly string[];
}

export interface FileKeySelector {
  readonly key: string;
  readonly optional?: boolean;
  readonly path: string;
  readonly volumeName: string;
}

export interface FlexPersistentVolumeSource {
  readonly driver: string;
  readonly fsType?: string;
  readonly options?: Readonly<Record<string, string>>;
  readonly readOnly?: boolean;
  readonly secretRef?: SecretReference;
}

export interface FlexVolumeSource {
  readonly driver: string;
  readonly fsType?: string;
  readonly options?: Readonly<Record<string, string>>;
  readonly readOnly?: boolean;
  readonly secretRef?: LocalObjectReference;
}

export interface FlockerVolumeSource {
  readonly datasetName?: string;
  readonly datasetUUID?: string;
}

export interface GCEPersistentDiskVolumeSource {
  readonly fsType?: string;
  readonly partition?: number;
  readonly pdName: string;
  readonly readOnly?: boolean;
}

export interface GRPCAction {
  readonly port: number;
  readonly service?: string;
}

export interface GitRepoVolumeSource {
  readonly directory?: string;
  readonly repository: string;
  readonly revision?: string;
}

export interface GlusterfsPersistentVolumeSource {
  readonly endpoints: string;
  readonly endpointsNamespace?: string;
  readonly path: string;
  readonly readOnly?: boolean;
}

export interface GlusterfsVolumeSource {
  readonly endpoints: string;
  readonly path: string;
  readonly readOnly?: boolean;
}

export interface HTTPGetAction {
  readonly host?: string;
  readonly httpHeaders?: readonly HTTPHeader[];
  readonly path?: string;
  readonly port: number | string;
  readonly scheme?: string;
}

export interface HTTPHeader {
  readonly name: string;
  readonly value: string;
}

export interface HostAlias {
  readonly hostnames?: readonly string[];
  readonly ip: string;
}

export interface HostIP {
  readonly ip: string;
}

export interface HostPathVolumeSource {
  readonly path: string;
  readonly type?: string;
}

export interface ISCSIPersistentVolumeSource {
  readonly chapAuthDiscovery?: boolean;
  readonly chapAuthSession?: boolean;
  readonly fsType?: string;
  readonly initiatorName?: string;
  readonly iqn: string;
  readonly iscsiInterface?: string;
  readonly lun: number;
  readonly portals?: readonly string[];
  readonly readOnly?: boolean;
  readonly secretRef?: SecretReference;
  readonly targetPortal: string;
}

export interface ISCSIVolumeSource {
  readonly chapAuthDiscovery?: boolean;
  readonly chapAuthSession?: boolean;
  readonly fsType?: string;
  readonly initiatorName?: string;
  readonly iqn: string;
  readonly iscsiInterface?: string;
  readonly lun: number;
  readonly portals?: readonly string[];
  readonly readOnly?: boolean;
  readonly secretRef?: LocalObjectReference;
  readonly targetPortal: string;
}

export interface ImageVolumeSource {
  readonly pullPolicy?: string;
  readonly reference?: string;
}

export interface ImageVolumeStatus {
  readonly imageRef: string;
}

export interface KeyToPath {
  readonly key: string;
  readonly mode?: number;
  readonly path: string;
}

export interface Lifecycle {
  readonly postStart?: LifecycleHandler;
  readonly preStop?: LifecycleHandler;
  readonly stopSignal?: string;
}

export interface LifecycleHandler {
  readonly exec?: ExecAction;
  readonly httpGet?: HTTPGetAction;
  readonly sleep?: SleepAction;
  readonly tcpSocket?: TCPSocketAction;
}

export interface LinuxContainerUser {
  readonly gid: number;
  readonly supplementalGroups?: readonly number[];
  readonly uid: number;
}

export interface LoadBalancerIngress {
  readonly hostname?: string;
  readonly ip?: string;
  readonly ipMode?: string;
  readonly ports?: readonly PortStatus[];
}

export interface LoadBalancerStatus {
  readonly ingress?: readonly LoadBalancerIngress[];
}

export interface LocalObjectReference {
  readonly name?: string;
}

export interface LocalVolumeSource {
  readonly fsType?: string;
  readonly path: string;
}

export interface ModifyVolumeStatus {
  readonly status: string;
  readonly targetVolumeAttributesClassName?: string;
}

export interface NFSVolumeSource {
  readonly path: string;
  readonly readOnly?: boolean;
  readonly server: string;
}

export interface Namespace {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: ObjectMeta;
  readonly spec?: NamespaceSpec;
  readonly status?: NamespaceStatus;
}

export interface NamespaceCondition {
  readonly lastTransitionTime?: string;
  readonly message?: string;
  readonly reason?: string;
  readonly status: string;
  readonly type: string;
}

export interface NamespaceSpec {
  readonly finalizers?: readonly string[];
}

export interface NamespaceStatus {
  readonly conditions?: readonly NamespaceCondition[];
  readonly phase?: string;
}

export interface Node {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: ObjectMeta;
  readonly spec?: NodeSpec;
  readonly status?: NodeStatus;
}

export interface NodeAddress {
  readonly address: string;
  readonly type: string;
}

export interface NodeAffinity {
  readonly preferredDuringSchedulingIgnoredDuringExecution?: readonly PreferredSchedulingTerm[];
  readonly requiredDuringSchedulingIgnoredDuringExecution?: NodeSelector;
}

export interface NodeAllocatableResourceClaimStatus {
  readonly containers?: readonly string[];
  readonly resourceClaimName: string;
  readonly resources: Readonly<Record<string, string>>;
}

export interface NodeCondition {
  readonly lastHeartbeatTime?: string;
  readonly lastTransitionTime?: string;
  readonly message?: string;
  readonly reason?: string;
  readonly status: string;
  readonly type: string;
}

export interface NodeConfigSource {
  readonly configMap?: ConfigMapNodeConfigSource;
}

export interface NodeConfigStatus {
  readonly active?: NodeConfigSource;
  readonly assigned?: NodeConfigSource;
  readonly error?: string;
  readonly lastKnownGood?: NodeConfigSource;
}

export interface NodeDaemonEndpoints {
  readonly kubeletEndpoint?: DaemonEndpoint;
}

export interface NodeFeatures {
  readonly supplementalGroupsPolicy?: boolean;
}

export interface NodeRuntimeHandler {
  readonly features?: NodeRuntimeHandlerFeatures;
  readonly name?: string;
}

export interface NodeRuntimeHandlerFeatures {
  readonly recursiveReadOnlyMounts?: boolean;
  readonly userNamespaces?: boolean;
}

export interface NodeSelector {
  readonly nodeSelectorTerms: readonly NodeSelectorTerm[];
}

export interface NodeSelectorRequirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

export interface NodeSelectorTerm {
  readonly matchExpressions?: readonly NodeSelectorRequirement[];
  readonly matchFields?: readonly NodeSelectorRequirement[];
}

export interface NodeSpec {
  readonly configSource?: NodeConfigSource;
  readonly externalID?: string;
  readonly podCIDR?: string;
  readonly podCIDRs?: readonly string[];
  readonly providerID?: string;
  readonly taints?: readonly Taint[];
  readonly unschedulable?: boolean;
}

export interface NodeStatus {
  readonly addresses?: readonly NodeAddress[];
  readonly allocatable?: Readonly<Record<string, string>>;
  readonly capacity?: Readonly<Record<string, string>>;
  readonly conditions?: readonly NodeCondition[];
  readonly config?: NodeConfigStatus;
  readonly daemonEndpoints?: NodeDaemonEndpoints;
  readonly declaredFeatures?: readonly string[];
  readonly features?: NodeFeatures;
  readonly images?: readonly ContainerImage[];
  readonly nodeInfo?: NodeSystemInfo;
  readonly phase?: string;
  readonly runtimeHandlers?: readonly NodeRuntimeHandler[];
  readonly volumesAttached?: readonly AttachedVolume[];
  readonly volumesInUse?: readonly string[];
}

export interface NodeSwapStatus {
  readonly capacity?: number;
}

export interface NodeSystemInfo {
  readonly architecture: string;
  readonly bootID: string;
  readonly containerRuntimeVersion: string;
  readonly kernelVersion: string;
  readonly kubeProxyVersion: string;
  readonly kubeletVersion: string;
  readonly machineID: string;
  readonly operatingSystem: string;
  readonly osImage: string;
  readonly swap?: NodeSwapStatus;
  readonly systemUUID: string;
}

export interface ObjectFieldSelector {
  readonly apiVersion?: string;
  readonly fieldPath: string;
}

export interface ObjectReference {
  readonly apiVersion?: string;
  readonly fieldPath?: string;
  readonly kind?: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly resourceVersion?: string;
  readonly uid?: string;
}

export interface PersistentVolume {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: ObjectMeta;
  readonly spec?: PersistentVolumeSpec;
  readonly status?: PersistentVolumeStatus;
}

export interface PersistentVolumeClaim {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: ObjectMeta;
  readonly spec?: PersistentVolumeClaimSpec;
  readonly status?: PersistentVolumeClaimStatus;
}

export interface PersistentVolumeClaimCondition {
  readonly lastProbeTime?: string;
  readonly lastTransitionTime?: string;
  readonly message?: string;
  readonly reason?: string;
  readonly status: string;
  readonly type: string;
}

export interface PersistentVolumeClaimSpec {
  readonly accessModes?: readonly string[];
  readonly dataSource?: TypedLocalObjectReference;
  readonly dataSourceRef?: TypedObjectReference;
  readonly resources?: VolumeResourceRequirements;
  readonly selector?: LabelSelector;
  readonly storageClassName?: string;
  readonly volumeAttributesClassName?: string;
  readonly volumeMode?: string;
  readonly volumeName?: string;
}

export interface PersistentVolumeClaimStatus {
  readonly accessModes?: readonly string[];
  readonly allocatedResourceStatuses?: Readonly<Record<string, string>>;
  readonly allocatedResources?: Readonly<Record<string, string>>;
  readonly capacity?: Readonly<Record<string, string>>;
  readonly conditions?: readonly PersistentVolumeClaimCondition[];
  readonly currentVolumeAttributesClassName?: string;
  readonly modifyVolumeStatus?: ModifyVolumeStatus;
  readonly phase?: string;
}

export interface PersistentVolumeClaimTemplate {
  readonly metadata?: ObjectMeta;
  readonly spec: PersistentVolumeClaimSpec;
}

export interface PersistentVolumeClaimVolumeSource {
  readonly claimName: string;
  readonly readOnly?: boolean;
}

export interface PersistentVolumeSpec {
  readonly accessModes?: readonly string[];
  readonly awsElasticBlockStore?: AWSElasticBlockStoreVolumeSource;
  readonly azureDisk?: AzureDiskVolumeSource;
  readonly azureFile?: AzureFilePersistentVolumeSource;
  readonly capacity?: Readonly<Record<string, string>>;
  readonly cephfs?: CephFSPersistentVolumeSource;
  readonly cinder?: CinderPersistentVolumeSource;
  readonly claimRef?: ObjectReference;
  readonly csi?: CSIPersistentVolumeSource;
  readonly fc?: FCVolumeSource;
  readonly flexVolume?: FlexPersistentVolumeSource;
  readonly flocker?: FlockerVolumeSource;
  readonly gcePersistentDisk?: GCEPersistentDiskVolumeSource;
  readonly glusterfs?: GlusterfsPersistentVolumeSource;
  readonly hostPath?: HostPathVolumeSource;
  readonly iscsi?: ISCSIPersistentVolumeSource;
  readonly local?: LocalVolumeSource;
  readonly mountOptions?: readonly string[];
  readonly nfs?: NFSVolumeSource;
  readonly nodeAffinity?: VolumeNodeAffinity;
  readonly persistentVolumeReclaimPolicy?: string;
  readonly photonPersistentDisk?: PhotonPersistentDiskVolumeSource;
  readonly portworxVolume?: PortworxVolumeSource;
  readonly quobyte?: QuobyteVolumeSource;
  readonly rbd?: RBDPersistentVolumeSource;
  readonly scaleIO?: ScaleIOPersistentVolumeSource;
  readonly storageClassName?: string;
  readonly storageos?: StorageOSPersistentVolumeSource;
  readonly volumeAttributesClassName?: string;
  readonly volumeMode?: string;
  readonly vsphereVolume?: VsphereVirtualDiskVolumeSource;
}

export interface PersistentVolumeStatus {
  readonly lastPhaseTransitionTime?: string;
  readonly message?: string;
  readonly phase?: string;
  readonly reason?: string;
}

export interface PhotonPersistentDiskVolumeSource {
  readonly fsType?: string;
  readonly pdID: string;
}

export interface Pod {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: ObjectMeta;
  readonly spec?: PodSpec;
  readonly status?: PodStatus;
}

export interface PodAffinity {
  readonly preferredDuringSchedulingIgnoredDuringExecution?: readonly WeightedPodAffinityTerm[];
  readonly requiredDuringSchedulingIgnoredDuringExecution?: readonly PodAffinityTerm[];
}

export interface PodAffinityTerm {
  readonly labelSelector?: LabelSelector;
  readonly matchLabelKeys?: readonly string[];
  readonly mismatchLabelKeys?: readonly string[];
  readonly namespaceSelector?: LabelSelector;
  readonly namespaces?: readonly string[];
  readonly topologyKey: string;
}

export interface PodAntiAffinity {
  readonly preferredDuringSchedulingIgnoredDuringExecution?: readonly WeightedPodAffinityTerm[];
  readonly requiredDuringSchedulingIgnoredDuringExecution?: readonly PodAffinityTerm[];
}

export interface PodCertificateProjection {
  readonly certificateChainPath?: string;
  readonly credentialBundlePath?: string;
  readonly keyPath?: string;
  readonly keyType: string;
  readonly maxExpirationSeconds?: number;
  readonly signerName: string;
  readonly userAnnotations?: Readonly<Record<string, string>>;
}

export interface PodCondition {
  readonly lastProbeTime?: string;
  readonly lastTransitionTime?: string;
  readonly message?: string;
  readonly observedGeneration?: number;
  readonly reason?: string;
  readonly status: string;
  readonly type: string;
}

export interface PodDNSConfig {
  readonly nameservers?: readonly string[];
  readonly options?: readonly PodDNSConfigOption[];
  readonly searches?: readonly string[];
}

export interface PodDNSConfigOption {
  readonly name?: string;
  readonly value?: string;
}

export interface PodExtendedResourceClaimStatus {
  readonly requestMappings: readonly ContainerExtendedResourceRequest[];
  readonly resourceClaimName: string;
}

export interface PodIP {
  readonly ip: string;
}

export interface PodOS {
  readonly name: string;
}

export interface PodReadinessGate {
  readonly conditionType: string;
}

export interface PodResourceClaim {
  readonly name: string;
  readonly resourceClaimName?: string;
  readonly resourceClaimTemplateName?: string;
}

export interface PodResourceClaimStatus {
  readonly name: string;
  readonly resourceClaimName?: string;
}

export interface PodSchedulingGate {
  readonly name: string;
}

export interface PodSchedulingGroup {
  readonly podGroupName?: string;
}

export interface PodSecurityContext {
  readonly appArmorProfile?: AppArmorProfile;
  readonly fsGroup?: number;
  readonly fsGroupChangePolicy?: string;
  readonly runAsGroup?: number;
  readonly runAsNonRoot?: boolean;
  readonly runAsUser?: number;
  readonly seLinuxChangePolicy?: string;
  readonly seLinuxOptions?: SELinuxOptions;
  readonly seccompProfile?: SeccompProfile;
  readonly supplementalGroups?: readonly number[];
  readonly supplementalGroupsPolicy?: string;
  readonly sysctls?: readonly Sysctl[];
  readonly windowsOptions?: WindowsSecurityContextOptions;
}

export interface PodSpec {
  readonly activeDeadlineSeconds?: number;
  readonly affinity?: Affinity;
  readonly automountServiceAccountToken?: boolean;
  readonly containers: readonly Container[];
  readonly dnsConfig?: PodDNSConfig;
  readonly dnsPolicy?: string;
  readonly enableServiceLinks?: boolean;
  readonly ephemeralContainers?: readonly EphemeralContainer[];
  readonly hostAliases?: readonly HostAlias[];
  readonly hostIPC?: boolean;
  readonly hostNetwork?: boolean;
  readonly hostPID?: boolean;
  readonly hostUsers?: boolean;
  readonly hostname?: string;
  readonly hostnameOverride?: string;
  readonly imagePullSecrets?: readonly LocalObjectReference[];
  readonly initContainers?: readonly Container[];
  readonly nodeName?: string;
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly os?: PodOS;
  readonly overhead?: Readonly<Record<string, string>>;
  readonly preemptionPolicy?: string;
  readonly priority?: number;
  readonly priorityClassName?: string;
  readonly readinessGates?: readonly PodReadinessGate[];
  readonly resourceClaims?: readonly PodResourceClaim[];
  readonly resources?: ResourceRequirements;
  readonly restartPolicy?: string;
  readonly runtimeClassName?: string;
  readonly schedulerName?: string;
  readonly schedulingGates?: readonly PodSchedulingGate[];
  readonly schedulingGroup?: PodSchedulingGroup;
  readonly securityContext?: PodSecurityContext;
  readonly serviceAccount?: string;
  readonly serviceAccountName?: string;
  readonly setHostnameAsFQDN?: boolean;
  readonly shareProcessNamespace?: boolean;
  readonly subdomain?: string;
  readonly terminationGracePeriodSeconds?: number;
  readonly tolerations?: readonly Toleration[];
  readonly topologySpreadConstraints?: readonly TopologySpreadConstraint[];
  readonly volumes?: readonly Volume[];
}

export interface PodStatus {
  readonly allocatedResources?: Readonly<Record<string, string>>;
  readonly conditions?: readonly PodCondition[];
  readonly containerStatuses?: readonly ContainerStatus[];
  readonly ephemeralContainerStatuses?: readonly ContainerStatus[];
  readonly extendedResourceClaimStatus?: PodExtendedResourceClaimStatus;
  readonly hostIP?: string;
  readonly hostIPs?: readonly HostIP[];
  readonly initContainerStatuses?: readonly ContainerStatus[];
  readonly message?: string;
  readonly nodeAllocatableResourceClaimStatuses?: readonly NodeAllocatableResourceClaimStatus[];
  readonly nominatedNodeName?: string;
  readonly observedGeneration?: number;
  readonly phase?: string;
  readonly podIP?: string;
  readonly podIPs?: readonly PodIP[];
  readonly qosClass?: string;
  readonly reason?: string;
  readonly resize?: string;
  readonly resourceClaimStatuses?: readonly PodResourceClaimStatus[];
  readonly resources?: ResourceRequirements;
  readonly startTime?: string;
}

export interface PortStatus {
  readonly error?: string;
  readonly port: number;
  readonly protocol: string;
}

export interface PortworxVolumeSource {
  readonly fsType?: string;
  readonly readOnly?: boolean;
  readonly volumeID: string;
}

export interface PreferredSchedulingTerm {
  readonly preference: NodeSelectorTerm;
  readonly weight: number;
}

export interface Probe {
  readonly exec?: ExecAction;
  readonly failureThreshold?: number;
  readonly grpc?: GRPCAction;
  readonly httpGet?: HTTPGetAction;
  readonly initialDelaySeconds?: number;
  readonly periodSeconds?: number;
  readonly successThreshold?: number;
  readonly tcpSocket?: TCPSocketAction;
  readonly terminationGracePeriodSeconds?: number;
  readonly timeoutSeconds?: number;
}

export interface ProjectedVolumeSource {
  readonly defaultMode?: number;
  readonly sources?: readonly VolumeProjection[];
}

export interface QuobyteVolumeSource {
  readonly group?: string;
  readonly readOnly?: boolean;
  readonly registry: string;
  readonly tenant?: string;
  readonly user?: string;
  readonly volume: string;
}

export interface RBDPersistentVolumeSource {
  readonly fsType?: string;
  readonly image: string;
  readonly keyring?: string;
  readonly monitors: readonly string[];
  readonly pool?: string;
  readonly readOnly?: boolean;
  readonly secretRef?: SecretReference;
  readonly user?: string;
}

export interface RBDVolumeSource {
  readonly fsType?: string;
  readonly image: string;
  readonly keyring?: string;
  readonly monitors: readonly string[];
  readonly pool?: string;
  readonly readOnly?: boolean;
  readonly secretRef?: LocalObjectReference;
  readonly user?: string;
}

export interface ResourceClaim {
  readonly name: string;
  readonly request?: string;
}

export interface ResourceFieldSelector {
  readonly containerName?: string;
  readonly divisor?: string;
  readonly resource: string;
}

export interface ResourceHealth {
  readonly health?: string;
  readonly message?: string;
  readonly resourceID: string;
}

export interface ResourceRequirements {
  readonly claims?: readonly ResourceClaim[];
  readonly limits?: Readonly<Record<string, string>>;
  readonly requests?: Readonly<Record<string, string>>;
}

export interface ResourceStatus {
  readonly name: string;
  readonly resources?: readonly ResourceHealth[];
}

export interface SELinuxOptions {
  readonly level?: string;
  readonly role?: string;
  readonly type?: string;
  readonly user?: string;
}

export interface ScaleIOPersistentVolumeSource {
  readonly fsType?: string;
  readonly gateway: string;
  readonly protectionDomain?: string;
  readonly readOnly?: boolean;
  readonly secretRef: SecretReference;
  readonly sslEnabled?: boolean;
  readonly storageMode?: string;
  readonly storagePool?: string;
  readonly system: string;
  readonly volumeName?: string;
}

export interface ScaleIOVolumeSource {
  readonly fsType?: string;
  readonly gateway: string;
  readonly protectionDomain?: string;
  readonly readOnly?: boolean;
  readonly secretRef: LocalObjectReference;
  readonly sslEnabled?: boolean;
  readonly storageMode?: string;
  readonly storagePool?: string;
  readonly system: string;
  readonly volumeName?: string;
}

export interface SeccompProfile {
  readonly localhostProfile?: string;
  readonly type: string;
}

export interface Secret {
  readonly apiVersion?: string;
  readonly data?: Readonly<Record<string, string>>;
  readonly immutable?: boolean;
  readonly kind?: string;
  readonly metadata?: ObjectMeta;
  readonly stringData?: Readonly<Record<string, string>>;
  readonly type?: string;
}

export interface SecretEnvSource {
  readonly name?: string;
  readonly optional?: boolean;
}

export interface SecretKeySelector {
  readonly key: string;
  readonly name?: string;
  readonly optional?: boolean;
}

export interface SecretProjection {
  readonly items?: readonly KeyToPath[];
  readonly name?: string;
  readonly optional?: boolean;
}

export interface SecretReference {
  readonly name?: string;
  readonly namespace?: string;
}

export interface SecretVolumeSource {
  readonly defaultMode?: number;
  readonly items?: readonly KeyToPath[];
  readonly optional?: boolean;
  readonly secretName?: string;
}

export interface SecurityContext {
  readonly allowPrivilegeEscalation?: boolean;
  readonly appArmorProfile?: AppArmorProfile;
  readonly capabilities?: Capabilities;
  readonly privileged?: boolean;
  readonly procMount?: string;
  readonly readOnlyRootFilesystem?: boolean;
  readonly runAsGroup?: number;
  readonly runAsNonRoot?: boolean;
  readonly runAsUser?: number;
  readonly seLinuxOptions?: SELinuxOptions;
  readonly seccompProfile?: SeccompProfile;
  readonly windowsOptions?: WindowsSecurityContextOptions;
}

export interface Service {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: ObjectMeta;
  readonly spec?: ServiceSpec;
  readonly status?: ServiceStatus;
}

export interface ServiceAccount {
  readonly apiVersion?: string;
  readonly automountServiceAccountToken?: boolean;
  readonly imagePullSecrets?: readonly LocalObjectReference[];
  readonly kind?: string;
  readonly metadata?: ObjectMeta;
  readonly secrets?: readonly ObjectReference[];
}

export interface ServiceAccountTokenProjection {
  readonly audience?: string;
  readonly expirationSeconds?: number;
  readonly path: string;
}

export interface ServicePort {
  readonly appProtocol?: string;
  readonly name?: string;
  readonly nodePort?: number;
  readonly port: number;
  readonly protocol?: string;
  readonly targetPort?: number | string;
}

export interface ServiceSpec {
  readonly allocateLoadBalancerNodePorts?: boolean;
  readonly clusterIP?: string;
  readonly clusterIPs?: readonly string[];
  readonly externalIPs?: readonly string[];
  readonly externalName?: string;
  readonly externalTrafficPolicy?: string;
  readonly healthCheckNodePort?: number;
  readonly internalTrafficPolicy?: string;
  readonly ipFamilies?: readonly string[];
  readonly ipFamilyPolicy?: string;
  readonly loadBalancerClass?: string;
  readonly loadBalancerIP?: string;
  readonly loadBalancerSourceRanges?: readonly string[];
  readonly ports?: readonly ServicePort[];
  readonly publishNotReadyAddresses?: boolean;
  readonly selector?: Readonly<Record<string, string>>;
  readonly sessionAffinity?: string;
  readonly sessionAffinityConfig?: SessionAffinityConfig;
  readonly trafficDistribution?: string;
  readonly type?: string;
}

export interface ServiceStatus {
  readonly conditions?: readonly Condition[];
  readonly loadBalancer?: LoadBalancerStatus;
}

export interface SessionAffinityConfig {
  readonly clientIP?: ClientIPConfig;
}

export interface SleepAction {
  readonly seconds: number;
}

export interface StorageOSPersistentVolumeSource {
  readonly fsType?: string;
  readonly readOnly?: boolean;
  readonly secretRef?: ObjectReference;
  readonly volumeName?: string;
  readonly volumeNamespace?: string;
}

export interface StorageOSVolumeSource {
  readonly fsType?: string;
  readonly readOnly?: boolean;
  readonly secretRef?: LocalObjectReference;
  readonly volumeName?: string;
  readonly volumeNamespace?: string;
}

export interface Sysctl {
  readonly name: string;
  readonly value: string;
}

export interface TCPSocketAction {
  readonly host?: string;
  readonly port: number | string;
}

export interface Taint {
  readonly effect: string;
  readonly key: string;
  readonly timeAdded?: string;
  readonly value?: string;
}

export interface Toleration {
  readonly effect?: string;
  readonly key?: string;
  readonly operator?: string;
  readonly tolerationSeconds?: number;
  readonly value?: string;
}

export interface TopologySelectorLabelRequirement {
  readonly key: string;
  readonly values: readonly string[];
}

export interface TopologySelectorTerm {
  readonly matchLabelExpressions?: readonly TopologySelectorLabelRequirement[];
}

export interface TopologySpreadConstraint {
  readonly labelSelector?: LabelSelector;
  readonly matchLabelKeys?: readonly string[];
  readonly maxSkew: number;
  readonly minDomains?: number;
  readonly nodeAffinityPolicy?: string;
  readonly nodeTaintsPolicy?: string;
  readonly topologyKey: string;
  readonly whenUnsatisfiable: string;
}

export interface TypedLocalObjectReference {
  readonly apiGroup?: string;
  readonly kind: string;
  readonly name: string;
}

export interface TypedObjectReference {
  readonly apiGroup?: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
}

export interface Volume {
  readonly awsElasticBlockStore?: AWSElasticBlockStoreVolumeSource;
  readonly azureDisk?: AzureDiskVolumeSource;
  readonly azureFile?: AzureFileVolumeSource;
  readonly cephfs?: CephFSVolumeSource;
  readonly cinder?: CinderVolumeSource;
  readonly configMap?: ConfigMapVolumeSource;
  readonly csi?: CSIVolumeSource;
  readonly downwardAPI?: DownwardAPIVolumeSource;
  readonly emptyDir?: EmptyDirVolumeSource;
  readonly ephemeral?: EphemeralVolumeSource;
  readonly fc?: FCVolumeSource;
  readonly flexVolume?: FlexVolumeSource;
  readonly flocker?: FlockerVolumeSource;
  readonly gcePersistentDisk?: GCEPersistentDiskVolumeSource;
  readonly gitRepo?: GitRepoVolumeSource;
  readonly glusterfs?: GlusterfsVolumeSource;
  readonly hostPath?: HostPathVolumeSource;
  readonly image?: ImageVolumeSource;
  readonly iscsi?: ISCSIVolumeSource;
  readonly name: string;
  readonly nfs?: NFSVolumeSource;
  readonly persistentVolumeClaim?: PersistentVolumeClaimVolumeSource;
  readonly photonPersistentDisk?: PhotonPersistentDiskVolumeSource;
  readonly portworxVolume?: PortworxVolumeSource;
  readonly projected?: ProjectedVolumeSource;
  readonly quobyte?: QuobyteVolumeSource;
  readonly rbd?: RBDVolumeSource;
  readonly scaleIO?: ScaleIOVolumeSource;
  readonly secret?: SecretVolumeSource;
  readonly storageos?: StorageOSVolumeSource;
  readonly vsphereVolume?: VsphereVirtualDiskVolumeSource;
}

export interface VolumeDevice {
  readonly devicePath: string;
  readonly name: string;
}

export interface VolumeMount {
  readonly mountPath: string;
  readonly mountPropagation?: string;
  readonly name: string;
  readonly readOnly?: boolean;
  readonly recursiveReadOnly?: string;
  readonly subPath?: string;
  readonly subPathExpr?: string;
}

export interface VolumeMountStatus {
  readonly mountPath: string;
  readonly name: string;
  readonly readOnly?: boolean;
  readonly recursiveReadOnly?: string;
  readonly volumeStatus?: VolumeStatus;
}

export interface VolumeNodeAffinity {
  readonly required?: NodeSelector;
}

export interface VolumeProjection {
  readonly clusterTrustBundle?: ClusterTrustBundleProjection;
  readonly configMap?: ConfigMapProjection;
  readonly downwardAPI?: DownwardAPIProjection;
  readonly podCertificate?: PodCertificateProjection;
  readonly secret?: SecretProjection;
  readonly serviceAccountToken?: ServiceAccountTokenProjection;
}

export interface VolumeResourceRequirements {
  readonly limits?: Readonly<Record<string, string>>;
  readonly requests?: Readonly<Record<string, string>>;
}

export interface VolumeStatus {
  readonly image?: ImageVolumeStatus;
}

export interface VsphereVirtualDiskVolumeSource {
  readonly fsType?: string;
  readonly storagePolicyID?: string;
  readonly storagePolicyName?: string;
  readonly volumePath: string;
}

export interface WeightedPodAffinityTerm {
  readonly podAffinityTerm: PodAffinityTerm;
  readonly weight: number;
}

export interface WindowsSecurityContextOptions {
  readonly gmsaCredentialSpec?: string;
  readonly gmsaCredentialSpecName?: string;
  readonly hostProcess?: boolean;
  readonly runAsUserName?: string;
}
